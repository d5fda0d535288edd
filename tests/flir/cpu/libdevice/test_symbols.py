"""Which functions there are, what ``emit`` refuses, and that all of them are tried."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import pytest
from triton.language.extra.cuda import libdevice as cuda

from tests.flir.cpu.libdevice import test_accuracy, test_exact_functions, test_rounding
from tests.flir.cpu.libdevice.running import run
from tle_raw.errors import LoweringError
from tle_raw.flir.cpu import libdevice
from tle_raw.flir.cpu.libdevice.functions import FUNCTIONS

SPELLED = {"int32": "i32", "uint32": "i32", "int64": "i64", "uint64": "i64", "fp32": "f32", "fp64": "f64"}


@pytest.fixture
def in_triton(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[tuple[str, ...], str]]:
    """The symbols and types that Triton's wrappers name."""
    found = {}

    def note(_library: str, _path: str, _operands: Any, table: dict[Any, Any], **_: Any) -> Any:
        for operands, (symbol, result) in table.items():
            found[symbol] = tuple(SPELLED[str(o)] for o in operands), SPELLED[str(result)]
        return SimpleNamespace(to=lambda *_, **__: None)

    monkeypatch.setattr(cuda.core, "extern_elementwise", note)
    for name, function in vars(cuda).items():
        if name != "core" and callable(function):
            parameters = inspect.signature(function).parameters
            function(*[None] * (len(parameters) - 1), _semantic=SimpleNamespace())
    return found


def test_all_that_triton_can_name_is_known(in_triton: dict[str, tuple[tuple[str, ...], str]]) -> None:
    assert len(in_triton) > 300
    ours = {s: (FUNCTIONS[s].operands, FUNCTIONS[s].result) for s in in_triton if libdevice.known(s)}
    assert ours == in_triton


def test_each_is_tried() -> None:
    prefixes = [*test_rounding.INTEGERS, "float", "double"]
    tried = {*test_accuracy.SYMBOLS, *test_exact_functions.SYMBOLS}
    tried |= {f"__nv_{name}{f}" for name in ("jn", "yn", "powi", *test_accuracy.INVERSES) for f in ("", "f")}
    tried |= {"__nv_fma", "__nv_fmaf", "__nv_rcp64h", "__nv_frsqrt_rn"}
    tried |= {f"__nv_{a}2{b}_{d}" for a in prefixes for b in prefixes for d in test_rounding.DIRECTIONS}
    tried |= {f"__nv_{name}" for name in ("llrint", "llrintf", "llround", "llroundf")}
    directed = [letter + name for name in test_rounding.OPERATIONS for letter in "fd"] + ["fmaf", "fma"]
    tried |= {f"__nv_{name}_{d}" for name in directed for d in test_rounding.DIRECTIONS}
    assert sorted(set(FUNCTIONS) - tried) == []


@pytest.mark.one_triton
def test_fma_rounds_once() -> None:
    x, y = 1.0 + 2.0**-12, 1.0 - 2.0**-12
    assert run("__nv_fmaf", [x], [y], [-1.0])[0] == -(2.0**-24)
    assert run("__nv_fma", [1 + 2.0**-30], [1 - 2.0**-30], [-1.0])[0] == -(2.0**-60)


@pytest.mark.one_triton
def test_an_unknown_function_is_named() -> None:
    assert not libdevice.known("__nv_nonsense")
    assert not libdevice.known("expf")
    with pytest.raises(LoweringError, match="__nv_nonsense"):
        libdevice.emit("__nv_nonsense", [], None)


@pytest.mark.one_triton
def test_wrong_types_are_named() -> None:
    from torch_mlir import ir

    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse("func.func @f(%x: f64) { return }")
        block = module.body.operations[0].regions[0].blocks[0]
        with ir.InsertionPoint.at_block_begin(block), pytest.raises(LoweringError, match=r"\(f32\) -> f32.*\(f64\)"):
            libdevice.emit("__nv_expf", list(block.arguments), ir.F32Type.get())
