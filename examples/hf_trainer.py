"""Pretrain BERT, including next sentence prediction, with only `transformers.Trainer` and `datasets`.

    python examples/hf_trainer.py pairs-128 --steps 1000 --output bert

The shards are Arrow files with column types and names that `datasets` and `BertForPreTraining` support; the Trainer's collator
pads and masks them. `StaticMasks` pads rows with static masks instead.  bertdata is not imported.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path, help="a directory that make-pairs wrote")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--learning-rate", type=float, default=1e-4)
    parser.add_argument("--hidden", type=int, default=768, help="12 layers at 768; use less for a quick test")
    parser.add_argument("--output", type=Path, required=True)
    return parser.parse_args()


try:
    import datasets
    import torch
    import transformers
except ImportError as lacking:
    parse()  # --help works without these packages
    raise SystemExit(f"{lacking}: pip install torch transformers datasets accelerate") from None


def main() -> None:
    """Train, and save a model that `from_pretrained` loads."""
    options = parse()

    most = check(options.pairs)
    rows = datasets.load_dataset(str(options.pairs), split="train")
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(options.pairs))
    tokenizer.model_max_length = max(512, most)  # the vocabulary's tokenizer has no limit
    size = {"hidden_size": options.hidden, "intermediate_size": 4 * options.hidden, "max_position_embeddings": max(512, most)}
    size |= dict.fromkeys(("num_hidden_layers", "num_attention_heads"), max(2, options.hidden // 64))
    model = transformers.BertForPreTraining(transformers.BertConfig(vocab_size=len(tokenizer), **size))
    arguments = transformers.TrainingArguments(
        output_dir=str(options.output),
        max_steps=options.steps,
        per_device_train_batch_size=options.batch_size,
        learning_rate=options.learning_rate,
        logging_steps=max(1, options.steps // 10),
        report_to=[],
        seed=0,
    )
    collator = transformers.DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15)
    if "masked_lm_labels" in rows.column_names:  # rows with static masks
        collator, arguments.remove_unused_columns = StaticMasks(tokenizer), False
    trainer = transformers.Trainer(model=model, args=arguments, train_dataset=rows, data_collator=collator)
    trainer.train()
    trainer.save_model()
    tokenizer.save_pretrained(str(options.output))
    for entry in trainer.state.log_history:
        if "loss" in entry:
            print(f"step {entry['step']}  loss {entry['loss']:.4f}")


def check(pairs: Path) -> int:
    """Return the maximum length of rows; exit if they are not pairs that `BertForPreTraining` can read through `datasets`."""
    try:
        config = json.loads((pairs / "manifest.json").read_text(encoding="utf-8"))["config"]
    except OSError:
        raise SystemExit(f"{pairs}: no manifest.json found. Pass a directory that make-pairs wrote") from None
    if config.get("objective") not in ("nsp", "sop"):
        wrong = f"BertForPreTraining needs pairs, and these are rows of objective {config.get('objective')}"
        raise SystemExit(f"{pairs}: {wrong}. Run make-pairs with --objective nsp")
    if config["pack"]:  # the Trainer would remove the column that separates the documents of a row
        raise SystemExit(
            f"{pairs}: BertForPreTraining reads one pair per row, and these rows are packed. Run make-pairs without --pack"
        )
    return int(config["max_seq_length"])


class StaticMasks:
    """Pad rows with static masks, and put the original ids of the masked positions into ``labels``."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def __call__(self, rows: list[dict[str, Any]]) -> Any:
        inputs = [{name: row[name] for name in ("input_ids", "token_type_ids")} for row in rows]
        batch = self.tokenizer.pad(inputs, return_tensors="pt")
        batch["labels"] = torch.full_like(batch["input_ids"], -100)
        for labels, row in zip(batch["labels"], rows, strict=True):
            labels[row["masked_lm_positions"]] = torch.tensor(row["masked_lm_labels"])
        if "next_sentence_label" in rows[0]:
            batch["next_sentence_label"] = torch.tensor([row["next_sentence_label"] for row in rows])
        return batch


if __name__ == "__main__":
    main()
