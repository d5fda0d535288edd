"""The linker uses nothing of the project but its errors, and loads no Triton; only one file knows llvmlite."""

import ast
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_triton

FILES = sorted(Path(find_spec("tle_raw.linker").origin).parent.rglob("*.py"))


def imported(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_imports_the_standard_library_errors_and_its_neighbours(file):
    for name in imported(file):
        own = name in ("tle_raw.errors", "tle_raw.columns", "tle_raw.near_names") or name.startswith("tle_raw.linker")
        llvmlite = file.stem in ("llvmlite_binding", "bitcode_child") and name.split(".")[0] == "llvmlite"
        assert own or llvmlite or name.split(".")[0] in sys.stdlib_module_names
