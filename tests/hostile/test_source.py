"""The source itself: nothing that runs, unpacks or unpickles what others wrote."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import REPOSITORY

pytestmark = pytest.mark.long

FOLDERS = ("bertdata", "pipelines", "examples", "benchmarks")
SOURCES = sorted(path for folder in FOLDERS for path in (REPOSITORY / folder).rglob("*.py"))
MODULES = {"pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "yaml", "jsonpickle"}
PARSERS = {
    "xml.etree",
    "xml.etree.ElementTree",
    "xml.dom",
    "xml.dom.minidom",
    "xml.sax",
    "lxml",
    "xmlrpc",
    "plistlib",
}
BUILT_IN = {"eval", "exec", "compile", "__import__"}
SETTINGS = {"weights_only", "shell", "allow_pickle", "trust_remote_code", "verify"}
METHODS = {"extractall", "extract", "mktemp", "system", "popen", "unpack_archive"}


def named(node: ast.expr) -> str:
    """Name what is called, as far as it is names: ``torch.load``."""
    if isinstance(node, ast.Attribute):
        return f"{named(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def faults(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
            yield from (f"imports {name}" for name in names if name.split(".")[0] in MODULES or name in PARSERS)
        if not isinstance(node, ast.Call):
            continue
        name = named(node.func)
        given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords if keyword.arg in SETTINGS}
        if name in BUILT_IN or (name.rpartition(".")[2] in METHODS and "." in name):
            yield f"calls {name}"
        if name == "torch.load" and given.get("weights_only") != "True":
            yield "torch.load without weights_only=True"
        if given.get("shell", "False") != "False":
            yield "a shell"
        if given.get("allow_pickle", "False") != "False" or given.get("trust_remote_code", "False") != "False":
            yield f"{name} runs what it loads"
        if given.get("verify") == "False":
            yield f"{name} trusts any server"


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in SOURCES}), ids=lambda path: path.relative_to(REPOSITORY).as_posix()
)
def test_nothing_runs_or_unpacks_what_others_wrote(folder: Path) -> None:
    for path in (path for path in SOURCES if path.parent == folder):
        found = list(faults(ast.parse(path.read_text(encoding="utf-8"))))
        assert not found, f"{path}: {', '.join(found)}"


@pytest.mark.parametrize(
    "code",
    [
        *(
            "import pickle",
            "from pickle import loads",
            "import yaml",
            "import xml.etree.ElementTree",
            "from xml.dom import minidom",
        ),
        *("eval('1')", "exec(code)", "tar.extractall()", "archive.extract(name)", "tempfile.mktemp()", "os.system('ls')"),
        *("torch.load(path)", "torch.load(path, weights_only=False)", "subprocess.run(command, shell=True)"),
        *("numpy.load(path, allow_pickle=True)", "f(trust_remote_code=True)", "requests.get(url, verify=False)"),
    ],
)
def test_what_is_looked_for_is_found(code: str) -> None:
    assert list(faults(ast.parse(code)))


@pytest.mark.slow
def test_only_one_place_writes_to_the_terminal() -> None:
    """Every word goes through `console.echo`, rich's consoles draw what was cleaned, and `terminal` guards both streams."""
    allowed = {"cli/console.py": {"click.echo", "console.print", "self._bars.console.print"}, "cli/options.py": {"click.echo"}}
    allowed |= {"__main__.py": {"print"}}  # the command line could not be imported: the message names installed libraries only
    allowed |= {
        "storage/lock.py": {"print"},
        "storage/signals.py": {"print"},
    }  # to the guarded stream
    for path in sorted((REPOSITORY / "bertdata").rglob("*.py")):
        tree, name = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(REPOSITORY / "bertdata").as_posix()
        calls = {named(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        writing = {call for call in calls if call == "print" or call.endswith(("console.print", "click.echo", "click.secho"))}
        assert writing <= allowed.get(name, set()), f"{name}: {writing}"
