"""Atomic operations: real ones, for programs run on several cores at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tle_raw.flir.cpu.convert import access_log, build, checks, types, waits
from tle_raw.flir.cpu.convert.kernel import Kernel, converts
from tle_raw.flir.cpu.convert.reduce import loops
from tle_raw.flir.cpu.convert.tiles import ScalarBody
from tle_raw.flir.cpu.mlir_values import Operation, Type, Value

# Triton's RMWOp to LLVM's atomicrmw: and, or, xor, add, fadd, max, min, umax, umin, exchange.
_OPERATIONS = {1: 3, 2: 5, 3: 6, 4: 1, 5: 11, 6: 7, 7: 8, 8: 9, 9: 10, 10: 0}
_FADD = 5
# Triton's MemSemantic to LLVM's ordering: relaxed, acquire, release, acquire and release.
_ORDERINGS = {1: 2, 2: 4, 3: 5, 4: 6}
_MONOTONIC, _ACQUIRE = 2, 4


def _ordering(op: Operation) -> int:
    return _ORDERINGS[op.attributes["sem"].value] if "sem" in op.attributes else 6


def load_ordering(op: Operation) -> Any:
    """LLVM's ordering of a load."""
    return _enum(_ACQUIRE if _ordering(op) in (4, 6) else _MONOTONIC)


def _enum(number: int) -> Any:
    return build.attribute(f"{number} : i64")


def each_element(kernel: Kernel, op: Operation, operands: Sequence[Any], act: Callable[..., Any]) -> None:
    """Run ``act(*elements)`` for one element after the other; what it returns is the operation's result."""
    result: Any = op.results[0] if len(op.results) else None
    shapes = [types.shape_of(o.type) for o in operands if o is not None and types.is_tile(o.type)]
    if not shapes:
        value = act(*(None if o is None else kernel.scalar(o) for o in operands))
        if result is not None:
            kernel.set(result, value)
        return
    found = [None if o is None else kernel.tile(o) for o in operands]
    into = None
    if result is not None and any(True for _ in result.uses):
        into = kernel.allocate(shapes[0], types.element_of(result.type))
    with loops(shapes[0]) as index:
        body = ScalarBody()
        value = act(*(None if t is None else body.element(t, tuple(index) if t.shape else ()) for t in found))
        if into is not None and value is not None:
            into.store(types.to_memory(value), tuple(index))
    if into is not None:
        kernel.set(result, into)


def element_address(op: Operation, pointer: Value | types.Address) -> types.Address:
    element = types.pointee(types.element_of(op.operands[0].type))
    return pointer if isinstance(pointer, types.Address) else types.Address(pointer, None, element)


def masked(
    kernel: Kernel,
    op: Operation,
    address: types.Address,
    mask: Value | None,
    act: Callable[[], Any],
    changes: Callable[[Any], Value] | None = None,
) -> Any:
    """``act`` where the mask says so; its result is zero elsewhere. ``changes``: see ``access_log.ordered``."""
    mask = checks.guarded(kernel, op, address, mask, op.name.removeprefix("tt."))
    act = access_log.ordered(kernel, op, address, act, changes)
    if mask is None:
        done = act()
        waits.see(kernel, done, address)
        return done
    result = [types.computed(types.element_of(r.type)) for r in op.results]
    choice = build.create("scf.if", [mask], result, regions=2)
    with build.block(choice.regions[0]):
        done = act()
        if result:
            waits.see(kernel, done, address)  # here: a loop does not look at what the mask leaves out
        build.create("scf.yield", [types.plain(done)] if result else [])
    if result:
        with build.block(choice.regions[1]):
            build.create("scf.yield", [zero(result[0])])
        return choice.results[0]
    return None


def zero(type_: Type) -> Value:
    if str(type_) == "!llvm.ptr":
        return build.create("llvm.mlir.zero", [], [type_]).results[0]
    return build.constant(0, type_)


@converts("tt.atomic_rmw")
def atomic_rmw(kernel: Kernel, op: Operation) -> None:
    kind = op.attributes["atomic_rmw_op"].value
    pointer, number, mask = (*op.operands, None)[:3]

    def act(pointer: Value, number: Any, mask: Any) -> Any:
        address = element_address(op, pointer)

        def update() -> Value:
            at = address.pointer()
            if str(number.type) == "bf16" and kind == _FADD:
                return _add_by_exchange(at, number, _ordering(op))
            attributes = {"bin_op": _enum(_OPERATIONS[kind]), "ordering": _enum(_ordering(op))}
            return build.value("llvm.atomicrmw", [at, number], number.type, attributes)

        return masked(kernel, op, address, mask, update)

    each_element(kernel, op, [pointer, number, mask], act)


def _add_by_exchange(at: Value, number: Value, ordering: int) -> Value:
    """bf16 has no addition in LLVM's hands: exchange until nobody came between."""
    small = build.type_of("i16")
    loop = build.create("scf.while", [build.load(at, small, volatile_=build.attribute("unit"))], [small], regions=2)
    with build.block(loop.regions[0], [small]) as before:
        old = before.arguments[0]
        total = build.binary("addf", build.value("arith.bitcast", [old], "bf16"), number)
        seen, done = _exchange(at, old, build.value("arith.bitcast", [total], small), ordering)
        again = build.negated(done)
        build.create("scf.condition", [again, seen])
    with build.block(loop.regions[1], [small]) as after:
        build.create("scf.yield", [after.arguments[0]])
    return build.value("arith.bitcast", [loop.results[0]], "bf16")


def _exchange(at: Value, expected: Value, new: Value, ordering: int) -> tuple[Value, Value]:
    """What was there, and whether it was what was expected; then ``new`` is there now."""
    failing = _ACQUIRE if ordering in (4, 6) else _MONOTONIC
    attributes = {"success_ordering": _enum(ordering), "failure_ordering": _enum(failing)}
    pair = build.type_of(f"!llvm.struct<({expected.type}, i1)>")
    result = build.value("llvm.cmpxchg", [at, expected, new], pair, attributes)
    old, done = (
        build.value("llvm.extractvalue", [result], type_, {"position": build.attribute(f"array<i64: {n}>")})
        for n, type_ in enumerate((expected.type, build.type_of("i1")))
    )
    return old, done


@converts("tt.atomic_cas")
def atomic_cas(kernel: Kernel, op: Operation) -> None:
    def act(pointer: Value, expected: Value, new: Any) -> Any:
        address = element_address(op, pointer)
        type_ = expected.type
        integer = build.type_of(f"i{build.bits(type_)}")

        def swap() -> Value:
            old_bits, new_bits = (
                v if v.type == integer else build.value("arith.bitcast", [v], integer) for v in (expected, new)
            )
            old, _ = _exchange(address.pointer(), old_bits, new_bits, _ordering(op))
            return old if type_ == integer else build.value("arith.bitcast", [old], type_)

        def swaps(old: Value) -> Value:
            bits = [v if v.type == integer else build.value("arith.bitcast", [v], integer) for v in (old, expected)]
            return build.compare("eq", *bits)

        return masked(kernel, op, address, None, swap, swaps)

    each_element(kernel, op, list(op.operands), act)


@converts("tt.atomic_load")
def atomic_load(kernel: Kernel, op: Operation) -> None:
    pointer, mask = (*op.operands, None)[:2]

    def act(pointer: Value, mask: Any) -> Any:
        address = element_address(op, pointer)
        type_ = types.element_of(op.results[0].type)

        def read() -> Value:
            size = build.bits(address.element) // 8
            return build.load(address.pointer(), address.element, align=size, ordering=load_ordering(op))

        loaded = masked(kernel, op, address, mask, read)
        return types.from_memory(loaded, type_)

    each_element(kernel, op, [pointer, mask], act)


@converts("tt.atomic_store")
def atomic_store(kernel: Kernel, op: Operation) -> None:
    pointer, number, mask = (*op.operands, None)[:3]

    def act(pointer: Value, number: Any, mask: Any) -> Any:
        address = element_address(op, pointer)

        def write() -> None:
            size = build.bits(address.element) // 8
            ordering = 5 if _ordering(op) in (5, 6) else _MONOTONIC
            build.store(types.to_memory(number), address.pointer(), align=size, ordering=_enum(ordering))

        return masked(kernel, op, address, mask, write)

    each_element(kernel, op, [pointer, number, mask], act)
