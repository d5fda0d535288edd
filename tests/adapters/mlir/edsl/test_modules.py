"""The modules that functions become: operations, locations, names; in both builders."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import tle_raw
from tle_raw import Const, InOut, Out, Pointer, Scalar, Tile, mlir

FACTOR = 2.5
ROUTES = ["libtriton", "torch_mlir"]


def check(text: str, *checks: str) -> None:
    """The text against lines of FileCheck."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "checks"
        file.write_text("".join(f"// CHECK: {line}\n" for line in checks))
        command = [sys.executable, "-m", "filecheck", str(file)]
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr + text


def plain(text: str) -> str:
    """Without types of functions and locations, which the builders spell alike but for spaces."""
    return re.sub(r" loc\(.*?\)$", "", text, flags=re.MULTILINE)


@pytest.fixture(params=ROUTES)
def text(request, module):
    if request.param != "libtriton":
        pytest.importorskip("torch_mlir.ir")

    def build(function, **names):
        return module(function, request.param, **names).text

    return build


def test_parameters_become_pointers_and_numbers(text):
    def f(t: InOut[Tile["f32", "N"]], p: Pointer["f16"], s: Scalar["i64"], k: Const["K"]):
        t[k] = s

    built = text(f, N=32, K=7)
    assert "function_type = !llvm.func<void (ptr<3>, ptr<1>, i64)>" in built
    assert "value = 7 : i32" in built and "llvm.getelementptr" in built


def test_a_branch_is_a_region_with_results(text):
    def f(n: Scalar["i32"]) -> Scalar["i32"]:
        if n > 3:
            r = n * 2
        else:
            r = 5
        return r

    check(
        plain(text(f)),
        '"arith.cmpi"',
        '%[[R:[0-9]+]] = "scf.if"',
        '"arith.muli"',
        '"scf.yield"',
        "value = 5 : i32",
        '"scf.yield"',
        '"llvm.return"(%[[R]])',
    )


def test_a_loop_carries_what_it_changes_and_nothing_else(text):
    def f(n: Scalar["i32"], x: Scalar["f32"]) -> Scalar["f32"]:
        total = 0.0
        for i in range(n):
            unchanged = x * FACTOR
            total += unchanged * i
        return total

    check(
        plain(text(f)),
        '"scf.for"',
        "value = 2.5",
        '"arith.mulf"',
        '"arith.sitofp"',
        '"arith.addf"',
        '"scf.yield"',
        "(i32, i32, i32, f32) -> f32",
        '"llvm.return"',
    )


def test_jumps_become_blocks(text):
    def f(n: Scalar["i32"]) -> Scalar["i32"]:
        while True:
            n -= 3
            if n < 0:
                break
        return n

    built = text(f)
    assert "cf.cond_br" in built and "cf.br" in built and "scf." not in built


def test_called_functions_are_inlined(text):
    @mlir.function
    def twice(x):
        return x + x

    def f(x: Scalar["f32"]) -> Scalar["f32"]:
        return twice(twice(x))

    built = text(f)
    assert built.count('"arith.addf"') == 2 and built.count('"llvm.func"') == 1


def test_each_operation_has_the_line_and_column_of_its_expression(text):
    def f(x: Scalar["f32"]) -> Scalar["f32"]:
        return x * 3.0 + x

    built = text(f)
    line = f.__code__.co_firstlineno + 1
    assert f'"{__file__}":{line}:16' in built


def test_the_prototype_is_the_declaration_in_python():
    @tle_raw.dialect("mlir")
    def f(t: InOut[Tile["f32", "N"]], o: Out[Tile["i32", "K"]], s: Scalar["i64"]) -> Scalar["f32"]:
        return 1.0

    shown = f.prototype()
    assert '    t: InOut[Tile["f32", "N"]],' in shown and '    s: Scalar["i64"],' in shown
    assert ') -> Scalar["f32"]:' in shown
