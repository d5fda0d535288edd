"""The numbers that ``tle.gpu.local_ptr`` asks of a buffer, and what is checked of accesses by its pointers.

A noted load of a word stands for each number in Triton's IR (``frontends/gpu/operations.py``). From the address on,
pointers into buffers are pointers like any other. Under ``knobs.debug`` an access must lie in one of the buffers from
which its pointer may come, or else, where control flow hides that, in any buffer or argument; and what it reads must
have been written (``buffer_checks``).
"""

from __future__ import annotations

from typing import Any

from tle_raw.flir.cpu.convert import buffer_checks, build, checks, groups, lazy, types
from tle_raw.flir.cpu.convert.kernel import Kernel
from tle_raw.flir.cpu.convert.shared_buffers import SharedBuffer, buffer_of
from tle_raw.flir.cpu.convert.tiles import Splat
from tle_raw.flir.cpu.convert.told import ADDRESS, TOLD, is_told
from tle_raw.flir.cpu.mlir_values import Operation, Value

_ACCESSES = ("tt.load", "tt.store", "tt.atomic")


def tell(kernel: Kernel, op: Operation) -> None:
    """The number, as a tile of one element."""
    buffer, what = buffer_of(kernel, op.operands[0]), str(op.attributes[TOLD].value)
    if what == ADDRESS:
        number = build.value("llvm.ptrtoint", [buffer.pointer], "i64")
        if kernel.debug:
            _guard(kernel).told[op] = buffer
    else:
        number = build.constant(buffer.strides[int(what)], "i64")
    kernel.values[op.results[0]] = Splat((1,), build.type_of("i64"), number)


def allocated(kernel: Kernel, buffer: SharedBuffer) -> None:
    """Remember a buffer for checks of pointers of which nothing else is known."""
    if kernel.debug and kernel.plan.has_pointers:
        _guard(kernel).buffers.append(buffer)


def given_away(kernel: Kernel, op: Operation) -> None:
    """Code whose writes nobody sees gets pointers: it is taken to write all of the buffers that they may point into."""
    if kernel.guard is None:
        return
    for operand in op.operands:
        known = kernel.guard.pointed_to(operand)
        if known is None:  # a number that control flow brings is taken for no address
            known = kernel.guard.buffers if types.is_pointer(types.element_of(operand.type)) else []
        for buffer in known:
            buffer_checks.given_to_region(kernel, buffer)


def _guard(kernel: Kernel) -> Guard:
    if kernel.guard is None:
        kernel.guard = Guard(kernel)
    found: Guard = kernel.guard
    return found


class Guard:
    """Checks accesses by pointers in a kernel that points into buffers.

    Attributes
    ----------
    told : the buffer, or view of one, of each address that was asked for.
    buffers : all that were allocated; their memory and stamps are known in the whole function.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.told: dict[Any, SharedBuffer] = {}
        self.buffers: list[SharedBuffer] = []

    def mask(self, op: Operation, address: types.Address, mask: Value | None, access: str) -> Value:
        """The mask of an access without what lies elsewhere."""
        kernel, known = self.kernel, self.pointed_to(op.operands[0])
        if known is not None and not known:
            return checks.in_arguments(kernel, op, address, mask, access)
        mask, at = build.constant(True, "i1") if mask is None else mask, address.integer()
        own = groups.own_place(kernel, at)
        away, inside = build.binary("subi", at, own), build.constant(False, "i1")
        for buffer in self.buffers if known is None else known:
            inside = build.binary("ori", inside, _in_buffer(kernel, op, buffer, own, away, mask, access))
        taken, left = build.binary("andi", mask, inside), build.binary("andi", mask, build.negated(inside))
        if known is None:
            return build.binary("ori", taken, checks.in_arguments(kernel, op, address, left, access))
        code = kernel.check("buffer", f"{access} outside of {known[0].title}", op.location, details=("element",))
        checks.fail(kernel, code, left, (_element(known[0], own),))
        return taken

    def pointed_to(self, pointer: Any) -> list[SharedBuffer] | None:
        """The buffers from which a pointer was made; None where control flow brings it, or a function's caller."""
        found: list[SharedBuffer] = []
        waiting, seen = [pointer], set()
        while waiting:
            op = lazy.definition(waiting.pop())
            if op is None or op.regions:
                return None
            if op in seen or op.name.startswith(_ACCESSES):
                continue
            seen.add(op)
            if is_told(op):
                found += [self.told[op]] if op in self.told else []
                continue
            waiting += list(op.operands)[:1] if op.name == "tt.addptr" else op.operands
        return found


def _in_buffer(
    kernel: Kernel, op: Operation, buffer: SharedBuffer, at: Value, away: Value, mask: Value, access: str
) -> Value:
    """Whether an address is one of the buffer's; then its stamps are looked at.

    ``away`` is how far from there the accessed memory lies: of another block's buffer, as its stamps do.
    """
    start = build.value("llvm.ptrtoint", [buffer.pointer], "i64")
    offset = build.binary("subi", at, start)
    last = sum((size - 1) * stride for size, stride in zip(buffer.shape, buffer.strides)) * buffer.item_bytes
    inside = build.compare("ule", offset, build.constant(last, "i64"))
    if buffer.stamps is not None:
        with build.when(build.binary("andi", mask, inside)):
            stamps = build.address(build.address(buffer.stamps, offset, "i64"), away, "i8")
            place = _element(buffer, at)
            if access != "store":
                buffer_checks.read_at(kernel, op, buffer, stamps, place)
            if access != "load":
                buffer_checks.write_at(kernel, op, buffer, stamps, place)
    return inside


def _element(buffer: SharedBuffer, at: Value) -> Value:
    """How many elements behind the buffer's first an address lies."""
    offset = build.binary("subi", at, build.value("llvm.ptrtoint", [buffer.pointer], "i64"))
    return build.binary("divsi", offset, build.constant(buffer.item_bytes, "i64"))
