"""What gets imported when: structure, not milliseconds."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = {
    "numpy",
    "scipy",
    "sklearn",
    "torch",
    "transformers",
    "faiss",
    "duckdb",
    "pyarrow",
    "pandas",
    "gensim",
    "jieba",
    "matplotlib",
    "onnxruntime",
    "tokenizers",
    "textual",
}
OPTIONAL_AT_THE_TOP_OF_NO_MODULE = HEAVY - {"numpy"}
LAYERS = {  # a package may import those before its own number, and its own
    "errors": 0,
    "version": 0,
    "hashing": 1,
    "records": 1,
    "listing": 1,
    "quantities": 1,
    "ipc": 1,
    "kernels": 2,
    "store": 2,
    "vectors": 2,
    "embedders": 2,
    "importers": 2,
    "steps": 3,
    "queries": 3,
    "report": 4,
    "demo": 4,
    "api": 5,
    "cli": 6,
    "__main__": 7,
}

PROGRAM = """
import json, sys
from click.testing import CliRunner
from patcache.cli import cli
result = CliRunner().invoke(cli, {arguments!r})
assert result.exit_code == 0, result.output
print(json.dumps(sorted({{name.split(".")[0] for name in sys.modules}})))
"""


def modules_after(arguments: list[str]) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(arguments=arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["import", "--help"], ["embed", "--help"], ["matrix", "--help"]],
)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    assert modules_after(arguments) & HEAVY == set()


def test_import_patcache_loads_nothing_heavy() -> None:
    code = "import json, sys, patcache; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) & HEAVY == set()


def top_level_imports(tree: ast.Module) -> set[str]:
    """Names imported when the module is: not those inside functions or under TYPE_CHECKING."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


SOURCES = sorted((ROOT / "patcache").rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_optional_libraries_are_imported_where_they_are_used(path: Path) -> None:
    tops = {name.split(".")[0] for name in top_level_imports(ast.parse(path.read_text("utf-8")))}
    assert tops & (OPTIONAL_AT_THE_TOP_OF_NO_MODULE - {"duckdb", "pyarrow"}) == set()


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    own = path.relative_to(ROOT / "patcache").parts[0].removesuffix(".py")
    if own == "__init__":
        return
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not (isinstance(node, ast.ImportFrom) and node.module):
            continue
        parts = node.module.split(".")
        if parts[0] != "patcache" or len(parts) < 2 or parts[1] in (own, "migrations"):
            continue
        assert parts[1] != "tui", f"{path.name} imports the screens"
        assert LAYERS[parts[1]] <= LAYERS[own], f"{path.name} imports {node.module}"
        siblings = LAYERS[parts[1]] == LAYERS[own] == 2
        assert not siblings, f"{path.name} imports {node.module}, which stands beside it"


def test_the_screens_have_one_name() -> None:
    code = "import sys, patcache.tui, patcache.migrations; print('tui' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "False"
