"""The layout's rules, enforced: who imports whom, what the command line loads, how files begin."""

from __future__ import annotations

import ast
import os
import pwd
import re
import subprocess
import sys
from itertools import accumulate
from pathlib import Path

import pytest
from conftest import REPOSITORY

PACKAGE, PIPELINES = REPOSITORY / "bertdata", REPOSITORY / "pipelines"
GROUND = {"", "errors", "codec", "credentials", "records", "keys", "tally", "pieces", "labels", "extras"}
BELOW = GROUND | {"config", "storage"}
FLOW = {"sources", "text", "tokens", "rows"}  # they do not import one another: they meet in stages/
MAY_IMPORT = {  # part of the package -> the other parts it may import; docs/explanation/architecture.md draws it
    **dict.fromkeys(GROUND, GROUND),
    "config": GROUND,
    "storage": GROUND,
    "dataset": BELOW,
    "sources": BELOW,
    "text": BELOW,
    "rows": GROUND | {"config"},
    "tokens": BELOW | {"dataset"},
    "reports": BELOW | {"dataset", "tokens", "rows", "verification"},
    "stages": BELOW | FLOW | {"dataset", "reports"},
    "beam": BELOW | {"dataset", "sources", "stages"},
    "exports": BELOW | {"dataset", "tokens", "reports"},
    "chains": BELOW | {"dataset", "sources", "tokens", "stages", "exports"},
    "pipelines": BELOW | {"chains"},
    "training": BELOW | {"dataset", "rows", "reports"},
    "verification": BELOW | {"dataset", "rows", "tokens"},  # reads what stages wrote, by laws of its own
    "sample": set(),
    "commands": BELOW | {"dataset", "sources", "tokens", "reports", "stages", "exports", "chains"},
    "cli": BELOW | {"dataset", "sources", "tokens", "reports", "stages", "commands", "training", "verification", "sample"},
    "__main__": {"cli", "errors", "storage"},
}
TRAINER = PACKAGE / "training" / "trainer"
TORCH = {
    TRAINER,
    TRAINER.parent / "attention.py",
    TRAINER.parent / "loader.py",
    TRAINER.parent / "predictions.py",
    TRAINER.parent / "pretrained.py",
    TRAINER.parent / "passes.py",
    TRAINER.parent / "step_batches.py",
}  # the only files that import torch and safetensors
WITH_TRANSFORMERS = {
    PACKAGE / "tokens" / "read.py",  # reads a tokenizer of transformers, in the driver alone
    TRAINER.parent / "pretrained.py",
}
TRAINER_LINES = 740
SOURCES = sorted([*PACKAGE.rglob("*.py"), *PIPELINES.rglob("*.py")])


def part_of(path: Path) -> str:
    """Name the part of the package that a file belongs to: its folder or module right below ``bertdata``."""
    if path.is_relative_to(PIPELINES):
        return "pipelines"
    if path.name == "__main__.py":  # `python -m`, of whatever folder
        return "__main__"
    first = path.relative_to(PACKAGE).parts[0]
    return "" if first == "__init__.py" else first.removesuffix(".py")


def with_torch(path: Path) -> bool:
    """Return True if a file may import torch."""
    return not TORCH.isdisjoint({path, *path.parents})


def imports(path: Path, tree: ast.AST) -> set[str]:
    """List the modules a file imports, by absolute name, also inside functions."""
    module = (
        ["bertdata", *path.relative_to(PACKAGE).parts]
        if path.is_relative_to(PACKAGE)
        else ["bertdata", "pipelines", *path.relative_to(PIPELINES).parts]
    )
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(module[: -node.level]) if node.level else ""
            full = ".".join(part for part in (base, node.module or "") if part)
            found |= {f"{full}.{alias.name}" for alias in node.names}
    return found


def ours(module: str) -> str | None:
    """Name the part of the package that a module belongs to, or None if it is someone else's."""
    parts = module.split(".")
    if parts[0] != "bertdata":
        return None
    known = set(MAY_IMPORT) - {""}
    return parts[1] if len(parts) > 1 and parts[1] in known else ""


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in SOURCES}), ids=lambda path: path.relative_to(REPOSITORY).as_posix()
)
def test_files_keep_the_rules(folder: Path) -> None:
    """Each is read and parsed once for all of them."""
    for path in (path for path in SOURCES if path.parent == folder):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        imported = imports(path, tree)
        imports_run_one_way(path, imported)
        what_is_heavy_has_its_place(path, imported)
        style(path, text, tree)


def imports_run_one_way(path: Path, imported: set[str]) -> None:
    part = part_of(path)
    assert part in MAY_IMPORT, f"{path} is in no part of the layout: add it to this table and to docs/explanation/architecture.md"
    if path == PACKAGE / "__init__.py":
        return  # the front door names what every part offers, and loads it when it is asked for
    used = {name for name in map(ours, imported) if name is not None}
    assert used <= MAY_IMPORT[part] | {part}, f"{path} imports {used - MAY_IMPORT[part] - {part}}"


WITH_BEAM = {
    *(f"pipelines/engines/{name}.py" for name in ("connection", "dask_cluster", "engine", "jobs", "on_beam", "runners")),
    "pipelines/dataflow/launch.py",
    *(f"bertdata/beam/{name}.py" for name in ("building_blocks", "schemas", "write_documents")),
}


def what_is_heavy_has_its_place(path: Path, imported: set[str]) -> None:
    roots = {module.split(".")[0] for module in imported}
    assert roots.isdisjoint({"apache_beam", "grpc"}) or path.relative_to(REPOSITORY).as_posix() in WITH_BEAM, (
        "a local run needs no Beam"
    )
    assert part_of(path) == "cli" or "click" not in roots
    assert with_torch(path) or not roots & {"torch", "safetensors"}
    assert path in WITH_TRANSFORMERS or not roots & {"transformers", "datasets"}
    assert not roots & {"pickle", "dill", "marshal", "shelve"}, "no pickle in the data path"


def style(path: Path, text: str, tree: ast.Module) -> None:
    docstring = ast.get_docstring(tree)
    assert docstring, "a file's first line is a sentence a user understands"
    assert docstring.splitlines()[0].rstrip().endswith((".", ":", ",")) or len(docstring.splitlines()[0]) > 80
    lines = text.splitlines()
    # Comments don't count: the limits keep code small, and must not make an explanation at a hard place too expensive.
    code_before = list(accumulate((not line.lstrip().startswith("#") for line in lines), initial=0))
    assert code_before[-1] <= 300, "one file, one idea"
    names: set[str] = set()
    for node in ast.walk(tree):
        overload = isinstance(node, ast.FunctionDef) and "overload" in map(ast.unparse, node.decorator_list)
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_") and not overload:
            public = isinstance(node, ast.ClassDef) or node in tree.body
            assert ast.get_docstring(node) or not public, f"{path.name}: {node.name} has no docstring"
        if isinstance(node, ast.FunctionDef):
            told = ast.get_docstring(node) or ""
            length = (
                code_before[node.end_lineno or 0] - code_before[node.lineno - 1] - (told.count("\n") if "Args:" in told else 0)
            )
            limit = 14 if node.name == "expand" and part_of(path) == "chains" else 48
            assert length <= limit, f"{path.name}: {node.name} has {length} lines"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            names.add(node.func.id)
    assert not names & {"eval", "exec"}


def test_the_documented_table_is_the_one_that_is_held() -> None:
    page = (REPOSITORY / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ((?:`\w+`(?:, )?)*) ?\|$", page, re.MULTILINE)
    documented = {part: set(re.findall(r"\w+", imported)) for part, imported in rows}
    assert documented == {part: imported - GROUND for part, imported in MAY_IMPORT.items() if part not in GROUND}


def test_the_trainer_is_small() -> None:
    lines = [line for path in TRAINER.glob("*.py") for line in path.read_text(encoding="utf-8").splitlines()]
    assert 0 < sum(not line.lstrip().startswith("#") for line in lines) <= TRAINER_LINES


def test_the_package_loads_what_is_asked_for() -> None:
    """`import bertdata` loads nothing heavy; `bertdata.Shards` is there all the same, and torch is loaded by the loader alone."""
    code = "import sys, bertdata; heavy = {'pyarrow', 'numpy', 'torch'} & set(sys.modules); bertdata.Shards\n"
    code += "print(heavy or 'light', 'numpy' in sys.modules, 'torch' in sys.modules, 'Shards' in dir(bertdata))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["light", "True", "False", "True"]


def test_help_is_light_and_fast() -> None:
    """`bertdata --help` must come in 0.3 s: it loads click and nothing heavy."""
    code = "import sys; sys.argv = ['bertdata', '--help']\nfrom bertdata.cli import main\ntry: main()\nexcept SystemExit: pass\n"
    code += "print('LOADED', *sorted({m.split('.')[0] for m in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split("LOADED")[1].split())
    heavy = {"apache_beam", "torch", "datasets", "transformers", "pyarrow", "numpy", "tokenizers", "rich", "sentencex"}
    assert not loaded & heavy


def test_no_test_is_left_out_of_both_make_test_and_make_long() -> None:
    """`make test` has none of the engines, and skips a file that asks for one; so `make long` must run all of that file."""
    for path in sorted((REPOSITORY / "tests" / "engines").glob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        own = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Expr | ast.Assign)]
        if any("importorskip" in statement for statement in own):
            assert any(re.match(r"pytestmark = .*pytest\.mark\.long", statement) for statement in own), path.name


def test_nothing_names_this_machine_or_a_registry() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=True).stdout.decode()
    here = [str(REPOSITORY) + "/", pwd.getpwuid(os.getuid()).pw_dir + "/"]
    for name in filter(None, listed.split("\0")):
        path = REPOSITORY / name
        if path.suffix in (".bz2", ".png") or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        assert not any(path in text for path in here), f"{name} names a path of this machine"
        assert "pypi" + ".org" not in text, f"{name} names a registry's host"


@pytest.mark.slow
def test_all_is_true() -> None:
    """Every name in a module's `__all__` exists, and the modules that have public names list them."""
    import importlib.util

    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name == "__main__.py" or (with_torch(path) and importlib.util.find_spec("torch") is None):
            continue
        name = ".".join(["bertdata", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", ()):
            assert hasattr(module, public), f"{name}.__all__ names {public}, which is not there"
