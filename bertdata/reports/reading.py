"""Show how a dataset is read with the tools that people have: a few lines of Python for each, run in its directory."""

from __future__ import annotations

__all__ = ["snippets"]

_LIST_FILES = """import glob
names = sorted(glob.glob("data/train-*.arrow"))"""
_POLARS = {
    "arrow-stream": f"""import polars
{_LIST_FILES}
print(polars.concat([polars.read_ipc_stream(name) for name in names]).head())""",
    "arrow-file": """import polars
print(polars.scan_ipc("data/train-*.arrow").head().collect())""",
    "parquet": """import polars
print(polars.scan_parquet("data/train-*.parquet").head().collect())""",
}
_DUCKDB = {
    "arrow-stream": f"""import duckdb, pyarrow
{_LIST_FILES}
rows = pyarrow.concat_tables([pyarrow.ipc.open_stream(pyarrow.memory_map(name)).read_all() for name in names])
duckdb.sql("SELECT count(*) FROM rows").show()""",
    "arrow-file": f"""import duckdb, pyarrow.dataset
{_LIST_FILES}
rows = pyarrow.dataset.dataset(names, format="ipc")
duckdb.sql("SELECT count(*) FROM rows").show()""",
    "parquet": """import duckdb
duckdb.sql("SELECT count(*) FROM 'data/train-*.parquet'").show()""",
}
_DATASETS = """import datasets, os  # which takes no "." for a directory
print(datasets.load_dataset(os.getcwd(), split="train")[0])"""
_TORCH = """import bertdata
for batch in bertdata.batches(bertdata.Shards("."), 8, for_model="custom"):  # or for_model=model, of transformers
    print(batch["input_ids"].shape)
    break"""


def snippets(kind: str, format: str) -> dict[str, str]:
    """Return lines of Python by the tool that they read a dataset with; of torch only for rows that can be mapped.

    >>> list(snippets("pairs", "arrow-stream")), list(snippets("documents", "parquet"))
    (['datasets', 'torch', 'polars', 'duckdb'], ['datasets', 'polars', 'duckdb'])
    """
    torch = {"torch": _TORCH} if kind == "pairs" and format != "parquet" else {}
    return {"datasets": _DATASETS, **torch, "polars": _POLARS[format], "duckdb": _DUCKDB[format]}
