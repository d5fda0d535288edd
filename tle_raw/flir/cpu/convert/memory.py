"""Loads and stores of the user's memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from tle_raw.flir.cpu.convert import build, types, waits
from tle_raw.flir.cpu.convert.kernel import Kernel, converts
from tle_raw.flir.cpu.convert.tiles import Elementwise, Index, ScalarBody, Shared, TileValue, leaves_read
from tle_raw.flir.cpu.mlir_values import Operation, Type, Value


class Load(TileValue):
    """Elements of memory; those that the mask leaves out are ``other``, or zero."""

    from_user = True  # the memory is an argument's

    def __init__(
        self,
        kernel: Kernel,
        op: Operation,
        shape: Sequence[int],
        element: Type,
        pointer: TileValue,
        mask: TileValue | None,
        other: Any,
    ) -> None:
        super().__init__(shape, element, [t for t in (pointer, mask, other) if t is not None])
        self.kernel, self.op = kernel, op
        self.pointer, self.mask, self.other = pointer, mask, other

    def compute(self, body: ScalarBody, index: Index) -> Any:
        address = body.element(self.pointer, index)
        mask = body.element(self.mask, index) if self.mask else None
        other = body.element(self.other, index) if self.other else None
        with self.op.location:
            return load_element(self.kernel, self.op, address, mask, other, self.element)


def load_element(kernel: Kernel, op: Operation, address: Any, mask: Value | None, other: Any, element: Type) -> Any:
    """Load one element."""
    from tle_raw.flir.cpu.convert import checks

    stored = types.in_memory(element)
    volatile = _volatile(op)
    mask = checks.guarded(kernel, op, address, mask, "load")
    if mask is None:
        return types.from_memory(build.load(address.pointer(), stored, **volatile), element)
    otherwise = types.to_memory(other) if other is not None else build.constant(0, stored)
    choice = build.create("scf.if", [mask], [stored], regions=2)
    with build.block(choice.regions[0]):
        build.create("scf.yield", [build.load(address.pointer(), stored, **volatile)])
    with build.block(choice.regions[1]):
        build.create("scf.yield", [otherwise])
    return types.from_memory(choice.results[0], element)


def store_element(kernel: Kernel, op: Operation, address: Any, mask: Value | None, number: Any) -> None:
    """Store one element."""
    from tle_raw.flir.cpu.convert import checks

    number = types.to_memory(number)
    mask = checks.guarded(kernel, op, address, mask, "store")
    if mask is None:
        build.store(number, address.pointer())
        return
    with build.when(mask):
        build.store(number, address.pointer())


def _volatile(op: Operation) -> dict[str, Any]:
    volatile = "isVolatile" in op.attributes and op.attributes["isVolatile"].value
    return {"volatile_": build.attribute("unit")} if volatile else {}


@converts("tt.load")
def load(kernel: Kernel, op: Operation) -> None:
    pointer, mask, other = build.segments(op, 3)
    result = op.results[0]
    if types.is_tile(result.type):
        became = Load(
            kernel,
            op,
            types.shape_of(result.type),
            types.element_of(result.type),
            kernel.tile(pointer),
            kernel.tile(mask) if mask is not None else None,
            kernel.tile(other) if other is not None else None,
        )
        kernel.set(result, became)
        return
    address = types.Address(kernel.scalar(pointer), None, types.pointee(pointer.type))
    loaded = load_element(
        kernel,
        op,
        address,
        kernel.scalar(mask) if mask is not None else None,
        kernel.scalar(other) if other is not None else None,
        result.type,
    )
    kernel.set(result, types.plain(loaded))
    if _volatile(op):
        waits.see(kernel, loaded, address)


@converts("tt.store")
def store(kernel: Kernel, op: Operation) -> None:
    pointer, number, *rest = op.operands
    mask = rest[0] if rest else None
    if not types.is_tile(pointer.type):
        address = types.Address(kernel.scalar(pointer), None, types.pointee(pointer.type))
        store_element(kernel, op, address, kernel.scalar(mask) if mask is not None else None, kernel.scalar(number))
        return
    target, source = kernel.tile(pointer), kernel.tile(number)
    mask_tile = kernel.tile(mask) if mask is not None else None

    def write(instead: dict[TileValue, TileValue]) -> None:
        def element(body: ScalarBody, index: Index) -> None:
            with op.location:
                store_element(
                    kernel,
                    op,
                    body.element(target, index),
                    body.element(mask_tile, index) if mask_tile else None,
                    body.element(source, index),
                )

        kernel.for_each(target.shape, element, instead=instead)

    roots = [source, *([mask_tile] if mask_tile else [])]
    loads = {
        load: same
        for load, same in pending_loads(roots).items()
        if load.from_user and not (same and load.pointer is target)
    }
    if not loads:
        write({})
        return
    # A tile is loaded whole before any of it is stored. Where the two ranges of memory overlap, it must be.
    choice = build.create("scf.if", [_overlap(loads, target)], (), regions=2)
    with build.block(choice.regions[0]):
        write({load: kernel.stored(load) for load in loads})
        build.create("scf.yield")
    with build.block(choice.regions[1]):
        write({})
        build.create("scf.yield")


def pending_loads(roots: Sequence[TileValue]) -> dict[Load, bool]:
    """The loads that computing these tiles will do, and whether each is needed at the element's own index only."""
    return leaves_read(roots, Load, (Elementwise, Shared, Load))


def _overlap(loads: Mapping[Load, bool], target: TileValue) -> Value:
    """Whether the memory of any of the loads overlaps the target's, unless both walk over the same addresses.

    ``loads`` says of each whether it is needed at the element's own index only.
    """
    low, high = _range(target)
    result = None
    for load, same in loads.items():
        load_low, load_high = _range(load.pointer)
        apart = build.binary("ori", build.compare("ule", load_high, low), build.compare("ule", high, load_low))
        if same and load.pointer.shape == target.shape:
            apart = build.binary("ori", apart, _same(load.pointer, target))
        overlaps = build.negated(apart)
        result = overlaps if result is None else build.binary("ori", result, overlaps)
    assert result is not None
    return result


def _corners(shape: Sequence[int]) -> list[Index]:
    return list(product(*[(0, size - 1) if size > 1 else (0,) for size in shape]))


def _range(pointer: TileValue) -> tuple[Value, Value]:
    """First address and the one after the last, of a tile of pointers that is linear in its indices."""
    body = ScalarBody()
    addresses = [body.element(pointer, corner) for corner in _corners(pointer.shape)]
    numbers = [address.integer() for address in addresses]
    low = high = numbers[0]
    for number in numbers[1:]:
        low, high = build.binary("minui", low, number), build.binary("maxui", high, number)
    size = build.bits(addresses[0].element) // 8
    return low, build.binary("addi", high, build.constant(size, "i64"))


def _same(a: TileValue, b: TileValue) -> Value:
    """Whether two linear tiles of pointers hold the same addresses: they agree at the origin and along each axis."""
    body = ScalarBody()
    rank = len(a.shape)
    at = [(0,) * rank]
    at += [tuple(1 if d == axis else 0 for d in range(rank)) for axis in range(rank) if a.shape[axis] > 1]
    result = None
    for index in at:
        same = build.compare("eq", *(body.element(t, index).integer() for t in (a, b)))
        result = same if result is None else build.binary("andi", result, same)
    assert result is not None
    return result
