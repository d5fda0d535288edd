"""``tle.load``: ``tl.load`` that Triton may overlap with what a loop computes."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, CallError, Row
from tle_raw.flir.early_loads import EARLY, iterations_ahead
from tle_raw.frontends.lite.arguments import describe_value, is_integer, plain
from tle_raw.frontends.lite.kernel_function import kernel_function
from tle_raw.triton_types import Semantic

_BLOCK_POINTER = "__triton_block_ptr__"  # what Triton 3.8 knows its block pointers by, which are no tensors there


@kernel_function
def load(
    pointer: Any,
    mask: Any = None,
    other: Any = None,
    boundary_check: Any = (),
    padding_option: Any = "",
    cache_modifier: Any = "",
    eviction_policy: Any = "",
    volatile: Any = False,
    is_async: Any = False,
    _semantic: Any = None,
    _generator: Any = None,
) -> Any:
    """``tl.load``, and with ``is_async=True`` one that a loop starts some iterations before its value is used.

    The value is that of ``tl.load`` on every target. On NVIDIA GPUs from sm_80 on an asynchronous load of a block in
    a loop becomes ``cp.async`` into buffers in shared memory that Triton's pipeliner makes, where each thread loads
    four bytes at least in a row. ``num_stages`` of the ``tl.range`` in the same function, else the kernel's, says how
    many iterations are in flight; less than two count as two. In a loop that holds such a load the pipeliner overlaps
    those that are marked, and no others: mark every load that it should.

    Outside a loop such a block goes by ``cp.async`` into a buffer, and is waited for where its value is used first;
    what a mask leaves out must be 0 there. For a scalar or a block pointer, for a volatile load, in a branch inside a
    loop or in a ``while`` loop, on CPUs and in Triton's interpreter it is ``tl.load``.

    Parameters
    ----------
    pointer, mask, other, cache_modifier, eviction_policy, volatile : as for ``tl.load``.
    boundary_check, padding_option : as for ``tl.load`` where Triton has block pointers.
    is_async : whether to start it early; a constant.

    Raises
    ------
    ArgumentTypeError : ``is_async`` is no constant, or ``pointer`` no pointer.
    CallError : an argument that this Triton's ``tl.load`` does not have.
    """
    asynchronous = plain(is_async)
    if not isinstance(asynchronous, (bool, int)):
        raise ArgumentTypeError(
            "tle.load: is_async is known at compile time",
            table=[Row("is_async", "True or False", describe_value(is_async))],
        )
    pointer = plain(pointer)
    is_block_pointer = getattr(pointer, _BLOCK_POINTER, False)
    if not is_block_pointer and not (isinstance(pointer, core.tensor) and pointer.type.scalar.is_ptr()):
        raise ArgumentTypeError(
            "tle.load takes a pointer, or a block of pointers",
            table=[Row("pointer", "a pointer", describe_value(pointer))],
        )
    options = {"cache_modifier": cache_modifier, "eviction_policy": eviction_policy, "volatile": volatile}
    options |= _block_pointer_options(boundary_check, padding_option)
    is_single = is_block_pointer or not pointer.type.is_block()
    if not asynchronous or plain(volatile) or is_single or _generator is None:
        return core.load(pointer, mask, other, **options, _semantic=_semantic)
    stages = _loop_stages(_generator) or getattr(_semantic.builder.options, "num_stages", None) or 0
    return _load_ahead(pointer, mask, other, options, iterations_ahead(stages), _semantic)


def _block_pointer_options(boundary_check: Any, padding_option: Any) -> dict[str, Any]:
    """Those that are given."""
    given = {"boundary_check": boundary_check, "padding_option": padding_option}
    given = {name: value for name, value in given.items() if not _is_empty(value)}
    for name in given:
        if not _takes(core.load, name):
            raise CallError(f"tle.load: this Triton's tl.load has no {name}", hint="it has no block pointers any more")
    return given


def _takes(function: Any, name: str) -> bool:
    """Triton 3.9 has no block pointers, and none of their options.

    Asked when it is called: Triton's interpreter puts functions that take anything in the place of its own, and may
    leave them there.
    """
    parameters = inspect.signature(function).parameters
    return name in parameters or any(each.kind is each.VAR_KEYWORD for each in parameters.values())


def _is_empty(value: Any) -> bool:
    value = plain(value)
    return len(value.values) == 0 if isinstance(value, core.tuple) else not value


def _load_ahead(
    pointer: core.tensor, mask: Any, other: Any, options: dict[str, Any], iterations: int, semantic: Semantic
) -> core.tensor:
    is_bool = pointer.dtype.element_ty == core.int1
    if is_bool:  # Triton loads bytes and compares: the note belongs on the load
        pointer = semantic.cast(pointer, core.pointer_type(core.int8, pointer.dtype.address_space))
    value = core.load(pointer, mask, other, **options, _semantic=semantic)
    value.handle.set_attr(EARLY, semantic.builder.get_int32_attr(iterations))
    return semantic.cast(value, core.int1) if is_bool else value


def _loop_stages(generator: Any) -> int:
    """``num_stages`` of the ``tl.range`` around the call; 0 where it says none."""
    loops = [node for node in generator.scf_stack if isinstance(node, ast.For)]
    if not loops or not isinstance(loops[-1].iter, ast.Call):
        return 0
    called = loops[-1].iter
    said = [keyword.value for keyword in called.keywords if keyword.arg == "num_stages"]
    place = list(inspect.signature(core.range).parameters).index("num_stages")
    said += called.args[place : place + 1]
    stages = plain(generator.visit(said[0])) if said else None
    return stages if is_integer(stages) else 0
