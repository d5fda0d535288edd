"""NVSHMEM's device functions as a kernel's own: what goes to another node is handed to them.

They are LLVM IR over the library's bitcode, of which the functions named here are cut once; no compiler is needed. Each
is declared when a kernel first asks for it: a machine without NVSHMEM uses the rest of the language.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from triton.language import core

from tle_raw.fragments.dialects import dialect
from tle_raw.fragments.fragment import Fragment
from tle_raw.fragments.nvshmem_library import NvshmemLibrary
from tle_raw.fragments.signature import Element, InOut, Pointer, Scalar
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
    fragment = _put(values.dtype.primitive_bitwidth)
    return fragment(heap, offsets, values, peer, _semantic=_semantic, _generator=_generator)


@kernel_function
def get_elements(
    heap: Any, offsets: Any, like: Any, peer: Any, _semantic: Any = None, _generator: Any = None
) -> core.tensor:
    """Numbers of the type of ``like`` at ``heap + offsets`` on a peer; 0 where the offset is negative."""
    fragment = _get(like.dtype.primitive_bitwidth)
    return fragment(heap, offsets, peer, _semantic=_semantic, _generator=_generator)


@kernel_function
def put_bytes(
    there: Any, here: Any, size: Any, peer: Any, _semantic: Any = None, _generator: Any = None
) -> None:
    """Copy ``size`` bytes from ``here`` to where a peer has what ``there`` points to; all threads share the work.

    ``here`` may be written again behind it.
    """
    _put_bytes()(there, here, size, peer, _semantic=_semantic, _generator=_generator)


@kernel_function
def get_bytes(
    here: Any, there: Any, size: Any, peer: Any, _semantic: Any = None, _generator: Any = None
) -> None:
    """Copy ``size`` bytes to ``here`` from where a peer has what ``there`` points to; all threads share the work."""
    _get_bytes()(here, there, size, peer, _semantic=_semantic, _generator=_generator)


@kernel_function
def wait_for_puts(_semantic: Any = None, _generator: Any = None) -> None:
    """All that each thread has put has arrived."""
    _wait_for_puts()(_semantic=_semantic, _generator=_generator)


@kernel_function
def change_number(
    number: Any, value: Any, adds: Any, peer: Any, _semantic: Any = None, _generator: Any = None
) -> None:
    """Add to an i32 of a peer's, or set it, once for the whole program."""
    fragment = _add_number() if core._unwrap_if_constexpr(adds) else _set_number()
    fragment(number, value, peer, _semantic=_semantic, _generator=_generator)


@kernel_function
def see_what_came(number: Any, _semantic: Any = None, _generator: Any = None) -> None:
    """What was put here before the i32 ``number`` took its value is seen behind this, whoever brought it."""
    _see_what_came()(number, _semantic=_semantic, _generator=_generator)


@cache
def _put(bits: int) -> Fragment:
    name, word = _NAMES[bits], f"i{bits}"

    @dialect("llvm", source=_PUT.format(name=name, word=word), symbol="tle_put", libraries=[_LIBRARY])
    def nvshmem_put(
        heap: InOut[Pointer["i8"]], offset: Element["i64"], value: Element[word], peer: Scalar["i32"]
    ) -> Element["i32"]: ...

    return nvshmem_put


@cache
def _get(bits: int) -> Fragment:
    name, word = _NAMES[bits], f"i{bits}"

    @dialect("llvm", source=_GET.format(name=name, word=word), symbol="tle_get", libraries=[_LIBRARY])
    def nvshmem_get(heap: Pointer["i8"], offset: Element["i64"], peer: Scalar["i32"]) -> Element[word]: ...

    return nvshmem_get


@cache
def _put_bytes() -> Fragment:
    @dialect("llvm", source=_BYTES.format(way="put"), symbol="tle_move", libraries=[_LIBRARY])
    def nvshmem_put_bytes(
        there: InOut[Pointer["i8"]], here: InOut[Pointer["i8"]], size: Scalar["i64"], peer: Scalar["i32"]
    ): ...

    return nvshmem_put_bytes


@cache
def _get_bytes() -> Fragment:
    @dialect("llvm", source=_BYTES.format(way="get"), symbol="tle_move", libraries=[_LIBRARY])
    def nvshmem_get_bytes(
        here: InOut[Pointer["i8"]], there: InOut[Pointer["i8"]], size: Scalar["i64"], peer: Scalar["i32"]
    ): ...

    return nvshmem_get_bytes


@cache
def _wait_for_puts() -> Fragment:
    @dialect("llvm", source=_QUIET, symbol="tle_quiet", libraries=[_LIBRARY])
    def nvshmem_quiet(): ...

    return nvshmem_quiet


@cache
def _add_number() -> Fragment:
    @dialect("llvm", source=_CHANGE.format(way="add"), symbol="tle_change", libraries=[_LIBRARY])
    def nvshmem_add(number: InOut[Pointer["i32"]], value: Scalar["i32"], peer: Scalar["i32"]): ...

    return nvshmem_add


@cache
def _set_number() -> Fragment:
    @dialect("llvm", source=_CHANGE.format(way="set"), symbol="tle_change", libraries=[_LIBRARY])
    def nvshmem_set(number: InOut[Pointer["i32"]], value: Scalar["i32"], peer: Scalar["i32"]): ...

    return nvshmem_set


@cache
def _see_what_came() -> Fragment:
    @dialect("llvm", source=_SEE, symbol="tle_see", libraries=[_LIBRARY])
    def nvshmem_see(number: InOut[Pointer["i32"]]): ...

    return nvshmem_see


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
