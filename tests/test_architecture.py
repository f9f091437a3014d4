"""The layout's rules, enforced: who imports whom, what is loaded when, how files begin."""

from __future__ import annotations

import ast
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

PACKAGE, PIPELINES = REPOSITORY / "bertdata", REPOSITORY / "pipelines"
GROUND = {"", "errors", "codec", "credentials", "records", "keys", "tally", "pieces", "labels", "extras"}
BELOW = GROUND | {"config", "storage"}
FLOW = {"sources", "text", "tokens", "rows"}  # they do not import one another: they meet in stages/
MAY_IMPORT = {  # part of the package -> the other parts it may import
    **dict.fromkeys(GROUND, GROUND),
    "config": GROUND,
    "storage": GROUND,
    "dataset": BELOW,
    "sources": BELOW,
    "text": BELOW,
    "rows": GROUND | {"config"},
    "tokens": BELOW | {"dataset"},
    "verification": BELOW | {"dataset", "rows", "tokens"},  # reads what stages wrote, by laws of its own
    "reports": BELOW | {"dataset", "tokens", "rows", "verification"},
    "run": BELOW | {"dataset", "reports"},
    "stages": BELOW | FLOW | {"dataset", "reports", "run"},
    "exports": BELOW | {"dataset", "tokens", "reports", "run"},
    "commands": BELOW | {"dataset", "sources", "tokens", "reports", "stages", "exports", "run"},
    "pipelines": BELOW | {"dataset", "sources", "stages", "exports", "run"},
    "training": BELOW | {"dataset", "rows", "reports"},
    "sample": set(),
    "cli": BELOW | {"dataset", "sources", "tokens", "reports", "stages", "run", "commands", "training", "verification", "sample"},
    "__main__": {"cli", "errors", "storage"},
}
MAX_LINES, MAX_FUNCTION_LINES = (
    300,
    48,
)  # of a file and a function, without comments: a limit must not make explanations expensive
SOURCES = sorted([*PACKAGE.rglob("*.py"), *PIPELINES.rglob("*.py")])


def part_of(path: Path) -> str:
    """Name the part of the package that a file belongs to: its folder or module right below ``bertdata``."""
    if path.is_relative_to(PIPELINES):
        return "pipelines"
    first = path.relative_to(PACKAGE).parts[0]
    return "" if first == "__init__.py" else first.removesuffix(".py")


def imports(path: Path, tree: ast.AST) -> set[str]:
    """List the modules a file imports, by absolute name, also inside functions."""
    root = ("bertdata", "pipelines") if path.is_relative_to(PIPELINES) else ("bertdata",)
    module = [*root, *path.relative_to(PIPELINES if len(root) > 1 else PACKAGE).parts]
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(module[: -node.level]) if node.level else ""
            found |= {".".join(filter(None, (base, node.module, alias.name))) for alias in node.names}
    return found


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in SOURCES}), ids=lambda path: path.relative_to(REPOSITORY).as_posix()
)
def test_files_keep_the_rules(folder: Path) -> None:
    for path in (path for path in SOURCES if path.parent == folder):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        part, imported = part_of(path), imports(path, tree)
        assert part in MAY_IMPORT, f"{path} is in no part of the layout: add it to this table"
        ours = {name.split(".")[1] for name in imported if name.startswith("bertdata.")} & MAY_IMPORT.keys()
        if path != PACKAGE / "__init__.py":  # which names what every part offers, and loads it when it is asked for
            assert ours <= MAY_IMPORT[part] | {part}, f"{path} imports {ours - MAY_IMPORT[part] - {part}}"
        roots = {module.split(".")[0] for module in imported}
        assert "apache_beam" not in roots or part == "pipelines", "a local run needs no Beam"
        assert "click" not in roots or part == "cli"
        assert (
            not roots & {"torch", "safetensors", "transformers"} or part == "training" or path == PACKAGE / "tokens" / "read.py"
        )
        assert not roots & {"pickle", "dill", "marshal", "shelve"}, "no pickle in the data path"
        _check_style(path, text, tree)


def _check_style(path: Path, text: str, tree: ast.Module) -> None:
    docstring = ast.get_docstring(tree)
    assert docstring, f"{path}: a file's first line is a sentence a user understands"
    is_code = [not line.lstrip().startswith("#") for line in text.splitlines()]
    assert sum(is_code) <= MAX_LINES, f"{path}: one file, one idea"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            arguments = (ast.get_docstring(node) or "").count("\n") if "Args:" in (ast.get_docstring(node) or "") else 0
            length = sum(is_code[node.lineno - 1 : node.end_lineno]) - arguments
            assert length <= MAX_FUNCTION_LINES, f"{path.name}: {node.name} has {length} lines"
        assert not (isinstance(node, ast.Name) and node.id in ("eval", "exec"))


def test_the_package_loads_what_is_asked_for() -> None:
    """`import bertdata` loads nothing heavy; `bertdata.Shards` is there all the same, and torch is loaded by the loader alone."""
    code = "import sys, bertdata; heavy = {'pyarrow', 'numpy', 'torch'} & set(sys.modules); bertdata.Shards\n"
    code += "print(heavy or 'light', 'numpy' in sys.modules, 'torch' in sys.modules, 'Shards' in dir(bertdata))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["light", "True", "False", "True"]


def test_help_loads_nothing_heavy() -> None:
    code = "import sys; sys.argv = ['bertdata', '--help']\nfrom bertdata.cli import main\ntry: main()\nexcept SystemExit: pass\n"
    code += "print('LOADED', *sorted({m.split('.')[0] for m in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"apache_beam", "torch", "datasets", "transformers", "pyarrow", "numpy", "tokenizers", "rich", "sentencex"}
    assert not set(done.stdout.split("LOADED")[1].split()) & heavy


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
