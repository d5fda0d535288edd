"""What a function's key covers: its source, that of the functions it calls, and the constants around them."""

import importlib.util
import linecache
import sys

import pytest

FILE = """
import tle_raw
from tle_raw import InOut, Pointer, Scalar, mlir
{constants}

@mlir.function
def helper(x):
    return x {operator} FACTOR

@tle_raw.dialect("mlir"{options})
def f(p: InOut[Pointer["f32"]], n: Scalar["i32"]):
    p[n] = helper(p[n]){rest}
"""


@pytest.fixture
def declared(tmp_path):
    """The fragment of a file that is written anew and imported again."""

    def declare(operator="*", constants="FACTOR = 2.0", rest="", options=""):
        path = tmp_path / "fragment_of_a_file.py"
        path.write_text(FILE.format(operator=operator, constants=constants, rest=rest, options=options))
        linecache.checkcache(str(path))
        spec = importlib.util.spec_from_file_location("fragment_of_a_file", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules.pop("fragment_of_a_file", None)
        path.with_suffix(".pyc").unlink(missing_ok=True)
        exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
        return module.f

    return declare


def test_the_same_file_has_the_same_key(declared):
    assert declared().cache_key == declared().cache_key


@pytest.mark.parametrize(
    "change",
    [
        {"rest": " + 1"},
        {"operator": "+"},
        {"constants": "FACTOR = 3.0"},
        {"constants": "FACTOR = 2"},
        {"options": ", block=(8, 4)"},
        {"options": ', route="libtriton"'},
    ],
)
def test_an_edit_gives_another_key(declared, change):
    assert declared().cache_key != declared(**change).cache_key


def test_an_edit_of_a_called_function_gives_other_code(declared):
    texts = [declared(operator=o).compile("cuda:90").path.read_text() for o in "*+"]
    assert "fmul" in texts[0] and "fmul" not in texts[1] and "fadd" in texts[1]


def test_what_is_defined_later_is_found_when_the_key_is_made(declared):
    fragment = declared(constants="", rest="\nFACTOR = 4.0")
    assert "4.000000e+00" in fragment.compile("cuda:90").path.read_text()


def test_a_function_that_moved_tells_its_new_lines(declared):
    lines = []
    for above in ("", "\n\n"):
        moved = declared(constants=f"FACTOR = 2.0{above}")
        text = moved.compile("cuda:90").text
        lines.append(moved.location.line)
        assert f"line: {moved.location.line + 1}," in text
    assert lines[1] == lines[0] + 2
