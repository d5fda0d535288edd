"""The written Python is what `ruff format` would write, and means what TIR means."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
import tilelang.language as T

from tle_raw.adapters.tilelang.port.python_text import broken, dictionary, expression, literal, tuple_text


def test_expressions_mean_the_same():
    n, m = T.dynamic("n"), T.dynamic("m")
    rng = random.Random(0)
    for tir in (
        T.ceildiv(n, 128),
        (n + 3) * (m - n % 7),
        T.min(n, m) // 2 + T.max(n - 5, 1),
        n - (m - 3),
        n * m // (m + 1) % 5,
    ):
        text = expression(tir, lambda v: v.name)
        values = {"n": rng.randint(1, 1000), "m": rng.randint(1, 1000)}
        from tvm import arith
        from tvm.tirx.stmt_functor import substitute

        assert eval(text, dict(values)) == int(
            arith.Analyzer().simplify(substitute(tir, {n: values["n"], m: values["m"]}))
        )


def test_what_is_no_arithmetic_has_no_text():
    n = T.dynamic("n")
    assert expression(T.if_then_else(n > 3, 1, 2), lambda v: v.name) is None
    assert expression(n + 1, lambda v: None) is None


@pytest.mark.parametrize("value", [3, 1e-06, True, None, "a\"b'c", "ä", (1,), (1, "x"), [1, (2.5, "y")], [], -4])
def test_values_are_read_back(value):
    assert eval(literal(value)) == value


def test_a_value_that_is_no_text():
    assert literal(object()) is None and literal((1, object())) is None


@pytest.mark.parametrize("count", [1, 3, 9, 12, 40])
@pytest.mark.parametrize("indent", [0, 4, 8])
def test_layout(count, indent, tmp_path):
    names = [f"parameter_{i}" for i in range(count)]
    lines = ["if True:"] * (indent >= 4) + ["    if True:"] * (indent >= 8)
    lines += broken("result = function(", names, ")", indent)
    lines += [" " * indent + f"pair = {tuple_text(names[:2])}"]
    file = tmp_path / "text.py"
    file.write_text("\n".join([*lines, *dictionary("settings", {"a": "1", "b": literal("x")})]) + "\n")
    command = [Path(sys.executable).with_name("ruff"), "format", "--check", "--isolated", "--line-length", "120", file]
    assert subprocess.run(command, capture_output=True).returncode == 0
