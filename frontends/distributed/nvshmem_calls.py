"""NVSHMEM's device functions as a kernel's own: what goes to another node is handed to them.

They are LLVM IR over the library's bitcode, of which the functions named here are cut once; no compiler is needed. Each
is declared when a kernel first asks for it: a machine without NVSHMEM uses the rest of the language.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from triton.language import core

from tle_raw.fragments.dialects import fragment
from tle_raw.fragments.dtypes import DTYPES
from tle_raw.fragments.fragment import Fragment
from tle_raw.fragments.nvshmem_library import NvshmemLibrary
from tle_raw.fragments.parameter_types import IN, INOUT, Element, Parameter, Pointer, Scalar
from tle_raw.fragments.signature import Signature
from tle_raw.frontends.lite.kernel_function import kernel_function

# What NVSHMEM calls numbers of so many bits.
_NAMES = {8: "char", 16: "short", 32: "int", 64: "longlong"}
_LIBRARY = NvshmemLibrary(
    (
        *(f"nvshmem_{name}_{letter}" for name in _NAMES.values() for letter in "pg"),
        "nvshmem_int_atomic_add",
        "nvshmem_int_atomic_set",
        "nvshmem_int_test",
        "nvshmem_fence",
        "nvshmem_quiet",
        "nvshmemx_putmem_block",
        "nvshmemx_getmem_block",
    )
)


@kernel_function
def put_elements(
    heap: Any, offsets: Any, values: Any, peer: Any, _semantic: Any = None, _generator: Any = None
) -> core.tensor:
    """Write numbers of 8 to 64 bits at ``heap + offsets`` on a peer; nothing where the offset is negative.

    ``heap`` is a pointer of this device's to i8; ``offsets`` are i64, and ``values`` integers. Each number is sent by
    itself. The result is none.
    """
    sends = _put(values.dtype.primitive_bitwidth)
    return sends(heap, offsets, values, peer, _semantic=_semantic, _generator=_generator)


@kernel_function
def get_elements(
    heap: Any, offsets: Any, like: Any, peer: Any, _semantic: Any = None, _generator: Any = None
) -> core.tensor:
    """Numbers of the type of ``like`` at ``heap + offsets`` on a peer; 0 where the offset is negative."""
    asks = _get(like.dtype.primitive_bitwidth)
    return asks(heap, offsets, peer, _semantic=_semantic, _generator=_generator)


@kernel_function
def put_bytes(there: Any, here: Any, size: Any, peer: Any, _semantic: Any = None, _generator: Any = None) -> None:
    """Copy ``size`` bytes from ``here`` to where a peer has what ``there`` points to; all threads share the work.

    ``here`` may be written again behind it.
    """
    _bytes("put")(there, here, size, peer, _semantic=_semantic, _generator=_generator)


@kernel_function
def get_bytes(here: Any, there: Any, size: Any, peer: Any, _semantic: Any = None, _generator: Any = None) -> None:
    """Copy ``size`` bytes to ``here`` from where a peer has what ``there`` points to; all threads share the work."""
    _bytes("get")(here, there, size, peer, _semantic=_semantic, _generator=_generator)


@kernel_function
def wait_for_puts(_semantic: Any = None, _generator: Any = None) -> None:
    """All that each thread has put has arrived."""
    _wait_for_puts()(_semantic=_semantic, _generator=_generator)


@kernel_function
def change_number(number: Any, value: Any, adds: Any, peer: Any, _semantic: Any = None, _generator: Any = None) -> None:
    """Add to an i32 of a peer's, or set it, once for the whole program."""
    changes = _change("add" if core._unwrap_if_constexpr(adds) else "set")
    changes(number, value, peer, _semantic=_semantic, _generator=_generator)


@kernel_function
def see_what_came(number: Any, _semantic: Any = None, _generator: Any = None) -> None:
    """What was put here before the i32 ``number`` took its value is seen behind this, whoever brought it."""
    _see_what_came()(number, _semantic=_semantic, _generator=_generator)


def _heap(name: str, dtype: str = "i8", effect: str = INOUT) -> Parameter:
    return Parameter(name, Pointer(DTYPES[dtype]), effect)


def _number(name: str, dtype: str) -> Parameter:
    return Parameter(name, Scalar(DTYPES[dtype]))


_PEER = _number("peer", "i32")


def _declared(name: str, source: str, symbol: str, *parameters: Parameter, result: Element | None = None) -> Fragment:
    signature = Signature(name, parameters, result)
    return fragment(source, signature=signature, dialect="llvm", symbol=symbol, libraries=[_LIBRARY])


@cache
def _put(bits: int) -> Fragment:
    word = f"i{bits}"
    numbers = Parameter("offset", Element(DTYPES["i64"])), Parameter("value", Element(DTYPES[word]))
    source = _PUT.format(name=_NAMES[bits], word=word)
    return _declared("nvshmem_put", source, "tle_put", _heap("heap"), *numbers, _PEER, result=Element(DTYPES["i32"]))


@cache
def _get(bits: int) -> Fragment:
    word, offset = f"i{bits}", Parameter("offset", Element(DTYPES["i64"]))
    source = _GET.format(name=_NAMES[bits], word=word)
    heap = _heap("heap", effect=IN)
    return _declared("nvshmem_get", source, "tle_get", heap, offset, _PEER, result=Element(DTYPES[word]))


@cache
def _bytes(way: str) -> Fragment:
    to, source, size = _heap("to"), _heap("source"), _number("size", "i64")
    return _declared(f"nvshmem_{way}_bytes", _BYTES.format(way=way), "tle_move", to, source, size, _PEER)


@cache
def _wait_for_puts() -> Fragment:
    return _declared("nvshmem_quiet", _QUIET, "tle_quiet")


@cache
def _change(way: str) -> Fragment:
    value = _number("value", "i32")
    return _declared(f"nvshmem_{way}", _CHANGE.format(way=way), "tle_change", _heap("number", "i32"), value, _PEER)


@cache
def _see_what_came() -> Fragment:
    return _declared("nvshmem_see", _SEE, "tle_see", _heap("number", "i32"))


_PUT = """
declare void @nvshmem_{name}_p(ptr, {word}, i32)
define i32 @tle_put(ptr %heap, i64 %offset, {word} %value, i32 %peer) {{
  %skipped = icmp slt i64 %offset, 0
  br i1 %skipped, label %done, label %send
send:
  %place = getelementptr i8, ptr %heap, i64 %offset
  call void @nvshmem_{name}_p(ptr %place, {word} %value, i32 %peer)
  br label %done
done:
  ret i32 0
}}
"""
_GET = """
declare {word} @nvshmem_{name}_g(ptr, i32)
define {word} @tle_get(ptr %heap, i64 %offset, i32 %peer) {{
  %skipped = icmp slt i64 %offset, 0
  br i1 %skipped, label %done, label %ask
ask:
  %place = getelementptr i8, ptr %heap, i64 %offset
  %came = call {word} @nvshmem_{name}_g(ptr %place, i32 %peer)
  br label %done
done:
  %found = phi {word} [ 0, %0 ], [ %came, %ask ]
  ret {word} %found
}}
"""
_BYTES = """
declare void @nvshmemx_{way}mem_block(ptr, ptr, i64, i32)
define void @tle_move(ptr %to, ptr %from, i64 %size, i32 %peer) {{
  call void @nvshmemx_{way}mem_block(ptr %to, ptr %from, i64 %size, i32 %peer)
  ret void
}}
"""
_QUIET = """
declare void @nvshmem_quiet()
define void @tle_quiet() {
  call void @nvshmem_quiet()
  ret void
}
"""
# The fence stands in the thread that sends: what the others saw arrive before a barrier of the block comes first.
_CHANGE = """
declare void @nvshmem_fence()
declare void @nvshmem_int_atomic_{way}(ptr, i32, i32)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define void @tle_change(ptr %number, i32 %value, i32 %peer) {{
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %thread, 0
  br i1 %first, label %send, label %done
send:
  call void @nvshmem_fence()
  call void @nvshmem_int_atomic_{way}(ptr %number, i32 %value, i32 %peer)
  br label %done
done:
  ret void
}}
"""
# A test that is met: behind one NVSHMEM makes what a network card has written visible, where that takes more.
_SEE = """
declare i32 @nvshmem_int_test(ptr, i32, i32)
define void @tle_see(ptr %number) {
  %value = load volatile i32, ptr %number, align 4
  %met = call i32 @nvshmem_int_test(ptr %number, i32 5, i32 %value)
  ret void
}
"""
