"""What cannot be expressed or is refused, at its own line; cuTile in another version."""

from __future__ import annotations

import inspect

import cuda.tile as ct
import pytest
import torch

import tle_raw
from tests.adapters.cutile.arrays import launch
from tests.adapters.cutile.tiles import run
from tests.support import TRITON
from tle_raw.adapters.cutile import drift
from tle_raw.adapters.cutile.installed import check_version
from tle_raw.errors import CompilationFailed, DialectError, FragmentSourceError, ToolchainError, UntraceableError


def line_of(text: str) -> int:
    lines = inspect.getsource(inspect.getmodule(line_of)).splitlines()
    return next(n for n, line in enumerate(lines, 1) if text in line)


def ours(error: BaseException | None) -> tle_raw.TLEError:
    """Our error among those that Triton and cuTile raised around it."""
    while not isinstance(error, tle_raw.TLEError):
        assert error is not None
        error = error.__cause__
    return error


def refused(function, *arguments, kind, words, at, **options):
    with pytest.raises(Exception, match=words) as caught:
        run(function, *arguments, **options)
    error = ours(caught.value)
    assert isinstance(error, kind), error
    assert error.context.source.file == __file__ and error.context.source.line == line_of(at)
    assert error.context.call_site is not None and error.context.fragment == function.__name__


def wrong_shapes(x):
    y = ct.reshape(x, (4, 4))
    return y + x  # of shapes that do not fit


def unknown_name(x):
    return x + not_there  # noqa: F821


def to_a_power(x):
    return ct.astype(x, ct.float8_e8m0fnu, rounding_mode=ct.RoundingMode.RP)  # to a power of two


def in_a_helper(x):
    return helper(x)


def helper(x):
    return ct.astype(x, ct.float8_e8m0fnu, rounding_mode=ct.RoundingMode.RP)  # inside a helper


def static_failure(x):
    ct.static_assert(x.shape[0] == 3, "three rows")  # a static assertion
    return x


def test_what_cutile_refuses():
    x = torch.rand(16)
    refused(wrong_shapes, x, kind=CompilationFailed, words="hape", at="y + x  # of shapes")
    refused(unknown_name, x, kind=CompilationFailed, words="not_there", at="x + not_there")
    refused(static_failure, x, kind=CompilationFailed, words="three rows", at="# a static assertion")


def test_what_triton_cannot_express():
    x = torch.rand(16).bfloat16()
    half = [torch.zeros(16, dtype=torch.float16)]
    words = "to float8_e8m0fnu rounded by RP"
    refused(to_a_power, x, results=half, kind=UntraceableError, words=words, at="# to a power of two")
    refused(in_a_helper, x, results=half, kind=UntraceableError, words=words, at="# inside a helper")


@ct.kernel
def acquires(X, Y):
    x = ct.load(X, (0,), (16,), memory_order=ct.MemoryOrder.ACQUIRE, memory_scope=ct.MemoryScope.SYS)  # an ordered load
    ct.store(Y, (0,), x, memory_order=ct.MemoryOrder.RELEASE, memory_scope=ct.MemoryScope.SYS)


@pytest.mark.skipif(TRITON >= (3, 9), reason="Triton has such loads of any width from 3.9 on")
def test_ordered_loads_of_few_bits_before_triton_3_9():
    with pytest.raises(Exception, match=r"accesses to 16 bits before Triton 3\.9") as caught:
        launch(acquires, (1,), torch.rand(16).half(), torch.zeros(16).half())
    assert ours(caught.value).context.source.line == line_of("# an ordered load")


def test_options_and_objects():
    def fine(x):
        return x

    with pytest.raises(DialectError, match="no option `tiles`"):
        tle_raw.fragment(fine, dialect="cutile", tiles=["x"])
    with pytest.raises(DialectError, match="grid= takes"):
        tle_raw.fragment(fine, dialect="cutile", grid={3: 0})
    with pytest.raises(DialectError, match="cannot take 3"):
        tle_raw.dialect("cutile")(3)
    with pytest.raises(FragmentSourceError, match="lambda"):
        tle_raw.fragment(lambda x: x, dialect="cutile")
    with pytest.raises(tle_raw.TLEError, match="typed by each call"):
        tle_raw.fragment(fine, dialect="cutile").compile(target="cuda:90")
    with pytest.raises(tle_raw.TLEError, match="runs only inside"):
        tle_raw.fragment(fine, dialect="cutile")(3)
    assert "return x" in tle_raw.fragment(fine, dialect="cutile").prototype()


@pytest.mark.parametrize("version", ["1.5.0", "1.8.0", "2.0"])
def test_versions_that_were_never_tried(version):
    with pytest.raises(ToolchainError, match="outside the tested range"):
        check_version(version)


def test_the_self_test_names_what_changed(monkeypatch):
    from cuda.tile._ir.ops import TileLoad
    from cuda.tile._passes import dce

    drift.check_typed_ir("this one")
    monkeypatch.setattr(TileLoad, "_attribute_names", (*TileLoad._attribute_names, "colour"))
    monkeypatch.delattr(dce, "dead_code_elimination_pass")
    with pytest.raises(ToolchainError) as caught:
        drift.check_typed_ir("1.7.9")
    message = str(caught.value)
    assert "1.7.9" in message and "operation tile_load" in message and "colour" in message
    assert "dead_code_elimination_pass" in message and message.count("\n") < 8


def test_an_operation_that_nobody_knows(monkeypatch):
    from tle_raw.adapters.cutile.traced.tracer import OPERATIONS

    def doubles(x):
        return ct.exp(x)  # the unknown one

    monkeypatch.delitem(OPERATIONS, "unaryop")
    refused(doubles, torch.rand(16), kind=UntraceableError, words="operation unaryop", at="# the unknown one")


def test_every_operation_is_translated():
    from tle_raw.adapters.cutile.traced.operations import OPERATIONS

    known = {line.partition(":")[0] for line in (drift.OPERATIONS + drift.NEWER).strip().splitlines() if line}
    assert known - {"break", "continue", "end_branch"} == set(OPERATIONS)
