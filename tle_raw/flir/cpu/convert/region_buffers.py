"""Regions of partitions work in the kernel's buffers themselves: other partitions fill and read them meanwhile.

Elsewhere a region takes a copy of a buffer, and its result is stored back: nobody can tell the difference. In Triton's
IR that is a load into a port, and a store of what the port gives (``frontends/raw/buffers.py``).
"""

from __future__ import annotations

from tle_raw.errors import LoweringError
from tle_raw.flir.cpu.convert import buffer_checks
from tle_raw.flir.cpu.convert.kernel import Kernel
from tle_raw.flir.cpu.convert.shared_buffers import SharedBuffer, buffer_of
from tle_raw.flir.cpu.convert.tiles import TileValue
from tle_raw.flir.cpu.mlir_values import Operation, Value
from tle_raw.fragments.bound import BoundParameter
from tle_raw.regions import ports

_ALIGNED = 16  # bytes that a region may take at once


class BufferInPlace(TileValue):
    """A shared buffer, as a region gets it: where it is."""

    def __init__(self, buffer: SharedBuffer) -> None:
        super().__init__(buffer.shape, buffer.element)
        self.buffer = buffer

    def pointer(self) -> Value:
        """The address of the first element."""
        return self.buffer.pointer


def taken_in_place(kernel: Kernel, load: Operation) -> BufferInPlace | None:
    """The buffer of a load that hands it to a region of a partition; None of any other load."""
    if kernel.partitions is None:
        return None
    users = [use.owner.operation for use in load.results[0].uses]
    if len(users) != 1 or not _is_port(kernel, users[0], ports.IN):
        return None
    return _in_place(kernel, buffer_of(kernel, load.operands[0]))


def made_in_place(kernel: Kernel, port: Operation) -> BufferInPlace | None:
    """The buffer into which the result of a new tile's port is stored, where that is a region's of a partition."""
    if kernel.partitions is None or not _is_port(kernel, port, ports.NEW):
        return None
    value = port.results[0]
    for name in ("tt.extern_elementwise", "ttg.local_store"):
        user = next((op for op in (use.owner.operation for use in value.uses) if op.name == name), None)
        if user is None:
            return None
        if user.name == "ttg.local_store":
            return _in_place(kernel, buffer_of(kernel, user.operands[1]))
        value = user.results[0]
    return None


def may_be_unwritten(kernel: Kernel, load: Operation) -> bool:
    """Whether a load hands a buffer to a function that takes its descriptor, which does not say what it reads."""
    users = [use.owner.operation for use in load.results[0].uses]
    found = [_parameter(kernel, user, ports.IN) for user in users]
    return bool(found) and all(p is not None and p.is_in_place and p.is_memref for p in found)


def _is_port(kernel: Kernel, op: Operation, kind: str) -> bool:
    """Whether an operation is the port of a parameter that is a buffer in place."""
    parameter = _parameter(kernel, op, kind)
    return parameter is not None and parameter.is_in_place


def _parameter(kernel: Kernel, op: Operation, kind: str) -> BoundParameter | None:
    """The parameter that an operation is the port of, if it is one of that kind."""
    symbol = _symbol(op)
    if not symbol.startswith(f"{kind}."):
        return None
    operations = [view.operation for view in op.block.operations]
    call = next(other for other in operations[operations.index(op) :] if _symbol(other) == ports.CALL)
    record, _ = kernel.regions.of(call)
    found: BoundParameter = record.bound.parameters[int(symbol.rpartition(".")[2])]
    return found


def _symbol(op: Operation) -> str:
    return str(op.attributes["symbol"].value) if op.name == "tt.extern_elementwise" else ""


def _in_place(kernel: Kernel, buffer: SharedBuffer) -> BufferInPlace:
    if not buffer.is_whole or buffer.bytes % _ALIGNED:
        raise LoweringError(
            f"in a partition of specialised warps a region works in {buffer.title} itself, of shape "
            f"{list(buffer.shape)}, whose elements lie {list(buffer.strides)} elements apart",
            hint=f"on CPUs it takes rows that lie behind each other, and a multiple of {_ALIGNED} bytes",
        )
    # What the region does there is not known.
    buffer_checks.given_to_region(kernel, buffer)
    return BufferInPlace(buffer)
