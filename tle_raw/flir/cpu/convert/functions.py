"""Functions of the Linalg form that hold a kernel's code: the kernel itself, and workers of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.convert import build
from tle_raw.flir.cpu.mlir_values import Type

IDS = ("i32",) * 6  # the program, and the grid
POINTERS = ("!llvm.ptr",) * 3  # small buffers, scratch, the context


def is_public(function: Any) -> bool:
    """Whether a function of Triton's module is the kernel, and not one that it calls."""
    return "sym_visibility" not in function.attributes or function.attributes["sym_visibility"].value == "public"


def add_function(module: Any, name: str, arguments: Sequence[Type], more: Sequence[str] = ()) -> tuple[Any, list[Type]]:
    """An empty function at the end of a module, and the types of its arguments.

    Behind ``arguments`` come the ids, ``more``, and the pointers, of which nobody else has the first two.
    """
    ir = mlir()
    inputs = [*arguments, *(build.type_of(name) for name in (*IDS, *more, *POINTERS))]
    empty = ir.DictAttr.get({})
    unaliased = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()})
    attributes = [empty] * (len(inputs) - 3) + [unaliased, unaliased, empty]
    with ir.InsertionPoint(module):
        function = build.create(
            "func.func",
            (),
            (),
            {
                "function_type": ir.TypeAttr.get(ir.FunctionType.get(inputs, [])),
                "sym_name": ir.StringAttr.get(name),
                "sym_visibility": ir.StringAttr.get("private"),
                "arg_attrs": ir.ArrayAttr.get(attributes),
                # LLVM would unroll the walk over the programs, and compile the kernel many times.
                "llvm.no_inline": ir.UnitAttr.get(),
            },
            regions=1,
        )
    return function, inputs
