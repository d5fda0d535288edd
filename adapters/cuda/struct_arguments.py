"""A device function's structs by value are put together in front of its call, of the numbers that crossed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from tle_raw.adapters.cuda.ports import CallArgument, ports
from tle_raw.adapters.cuda.read_signature import Slot
from tle_raw.adapters.cuda.symbol import Callee
from tle_raw.fragments.bound import BoundSignature

# The type of a function's n-th parameter, which nobody may be able to spell.
PARAMETER_TYPE = (
    "template <int tle_raw_n, class tle_raw_F> struct tle_raw_nth;",
    "template <class tle_raw_R, class tle_raw_P, class... tle_raw_Ps> "
    "struct tle_raw_nth<0, tle_raw_R (*)(tle_raw_P, tle_raw_Ps...)> "
    "{ using tle_raw_type = tle_raw_P; };",
    "template <int tle_raw_n, class tle_raw_R, class tle_raw_P, class... tle_raw_Ps> "
    "struct tle_raw_nth<tle_raw_n, tle_raw_R (*)(tle_raw_P, tle_raw_Ps...)> "
    ": tle_raw_nth<tle_raw_n - 1, tle_raw_R (*)(tle_raw_Ps...)> {};",
)


def struct_lines(bound: BoundSignature, callee: Callee, taken: Sequence[Slot]) -> Iterator[str]:
    """Statements that give the bytes of each struct; ``whole_arguments`` are what is passed."""
    for index, parts in _parameters(bound, callee, taken) if taken else ():
        if not _is_whole(parts):
            type_, place = _type(callee, index), _bytes(index)
            yield f"  alignas({type_}) unsigned char {place}[sizeof({type_})];"
            for port, slot in parts:
                yield (
                    f"  {{ auto tle_raw_part = {port.plain}; "
                    f"__builtin_memcpy({place} + {slot.offset}, &tle_raw_part, sizeof(tle_raw_part)); }}"
                )


def whole_arguments(bound: BoundSignature, callee: Callee, taken: Sequence[Slot]) -> Iterator[str]:
    """The function's own arguments, in order."""
    for index, parts in _parameters(bound, callee, taken):
        type_ = _type(callee, index)
        if not _is_whole(parts):
            yield f"*reinterpret_cast<{type_}*>({_bytes(index)})"
        else:
            yield _of_one(type_, *parts[0])


Part = tuple[CallArgument, Slot]


def _parameters(bound: BoundSignature, callee: Callee, taken: Sequence[Slot]) -> Iterator[tuple[int, list[Part]]]:
    """What crosses for each of the function's parameters: nothing for an empty struct."""
    passed = zip(ports(bound), taken, strict=True)
    found = {index: list(parts) for index, parts in groupby(passed, key=lambda part: part[1].parameter)}
    count = max([*found, len(callee.function.parameters) - 1 if callee.function else -1], default=-1) + 1
    yield from ((index, found.get(index, [])) for index in range(count))


def _of_one(type_: str, port: CallArgument, slot: Slot) -> str:
    if not slot.is_pointer:
        return f"__builtin_bit_cast({type_}, {port.plain})"
    return f"({type_}){'*' if slot.text.endswith('&') else ''}{port.plain}"


def _is_whole(parts: Sequence[Part]) -> bool:
    return len(parts) == 1 and not parts[0][1].in_struct


def _type(callee: Callee, index: int) -> str:
    return f"typename tle_raw_nth<{index}, decltype({callee.address(callee.arguments)})>::tle_raw_type"


def _bytes(index: int) -> str:
    return f"tle_raw_struct_{index}"
