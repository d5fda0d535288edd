"""Block tensors that the default partition returns, across the conversion to TritonGPU.

The conversion knows neither ``ttg.warp_yield`` nor ``ttg.warp_specialize`` with tensors. Meanwhile markers stand for
both ends, which get their layouts like any operation on tensors::

    %z = "ttg.warp_specialize"(...) ({                    "ttg.warp_specialize"(...) ({
      "ttg.warp_yield"(%v) : (tensor<64xf32>) -> ()         %y = "tt.extern_elementwise"(%v) <{symbol = "tle.yield"}>
    }, {...}) : (...) -> tensor<64xf32>                     "ttg.warp_yield"() : () -> ()
                                                          }, {...}) : (...) -> ()
                                                          %r = "tt.extern_elementwise"(%s) <{symbol = "tle.result"}>
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tle_raw.errors import RegionError
from tle_raw.flir.nvidia.open_crossings import is_tensor, with_element
from tle_raw.linker.mlir.generic_operation import GenericOperation, generic_name, read_generic
from tle_raw.linker.mlir.text import OPERATION, brace_depth, split_top_level

_SPECIALIZE, _YIELD = "ttg.warp_specialize", "ttg.warp_yield"
_YIELDED, _RESULT = "tle.yield", "tle.result"
_RECORD = 'libname = "{}", libpath = "", pure = false, symbol = "{}"'
HEAD = re.compile(r"^(?P<indent>\s*)(?:%(?P<name>[\w$.\-]+)(?::\d+)? = )?(?P<rest>\".*)$")
_TAIL = re.compile(r"^(?P<head>\s*\}\) : \(.*\) -> )(?P<types>.*?)(?P<location> loc\(.*)?$")


@dataclass(frozen=True)
class Place:
    """An operation in the text: where it begins, yields and ends."""

    begin: int
    yields: int
    end: int


def hold_results(lines: Sequence[str]) -> list[str]:
    """A module in generic form with markers in place of the tensors."""
    made = list(lines)
    for number, place in reversed(list(enumerate(places(lines)))):
        types = result_types(made[place.end])
        if any(map(is_tensor, types)):
            _hold(made, place, types, number)
    return [part for line in made for part in line.split("\n")]


def give_results(lines: Sequence[str]) -> list[str]:
    """The tensors again, on their layouts."""
    made = list(lines)
    if not any(f'"{_RESULT}"' in line for line in lines):
        return made
    yielded, given = _markers(lines, _YIELDED), _markers(lines, _RESULT)
    for number, place in reversed(list(enumerate(places(lines)))):
        ends = {key: operation for key, operation in given.items() if key[0] == str(number)}
        if ends:
            _give(made, place, {k: yielded[k] for k in ends}, ends)
    return [part for line in made if line for part in line.split("\n")]


def places(lines: Sequence[str]) -> list[Place]:
    """The operations of a module in generic form, in order.

    Raises
    ------
    RegionError : a default partition does not end in a yield.
    """
    found: list[Place] = []
    for begin in [n for n, line in enumerate(lines) if _SPECIALIZE in line and generic_name(line) == _SPECIALIZE]:
        depth, yields = 0, -1
        for number in range(begin, len(lines)):
            line = lines[number]
            if depth == 1 and _YIELD in line and generic_name(line) == _YIELD:
                yields = number
            if line.endswith("{") or line.lstrip().startswith("}"):  # other braces are in pairs
                depth += brace_depth(line)
            if depth == 0:
                break
        if yields < 0:
            raise RegionError("a default partition ends in no way that is known", hint="report this with the kernel")
        found.append(Place(begin, yields, number))
    return found


def result_types(line: str) -> list[str]:
    """The result types on the line that ends an operation with regions."""
    found = _TAIL.match(line)
    text = found["types"] if found else "()"
    return [part.strip() for part in split_top_level(text[1:-1] if text.startswith("(") else text) if part.strip()]


def with_result_types(line: str, types: Sequence[str]) -> str:
    """The line that ends an operation with regions, with other result types."""
    found = _TAIL.match(line)
    assert found is not None
    text = types[0] if len(types) == 1 else f"({', '.join(types)})"
    return f"{found['head']}{text}{found['location'] or ''}"


def _hold(lines: list[str], place: Place, types: list[str], number: int) -> None:
    head = HEAD.match(lines[place.begin])
    assert head is not None
    kept = [type_ for type_ in types if not is_tensor(type_)]
    tail = read_generic(lines[place.yields])
    before: list[str] = []
    operands: list[str] = []
    after: list[str] = []
    names: list[str] = []
    location, indent = tail.location, tail.indent
    zero = f"%tle_zero_{number}"
    after.append(f'{head["indent"]}{zero} = "arith.constant"() <{{value = 0 : i32}}> : () -> i32{location}')
    for index, (operand, type_) in enumerate(zip(tail.operands, types)):
        if not is_tensor(type_):
            names.append(f"%tle_kept_{number}" + (f"#{len(operands)}" if len(kept) > 1 else ""))
            operands.append(operand)
            continue
        key, words = f"{number} {index}", with_element(type_, "i32")
        marker = GenericOperation(OPERATION, (operand,), (type_,), (type_,), f"%tle_yield_{number}_{index}")
        before.append(str(marker._replace(properties=_RECORD.format(key, _YIELDED), indent=indent, location=location)))
        splat, result = f"%tle_splat_{number}_{index}", f"%tle_result_{number}_{index}"
        after.append(f'{head["indent"]}{splat} = "tt.splat"({zero}) : (i32) -> {words}{location}')
        made = GenericOperation(OPERATION, (splat,), (words,), (type_,), result)
        after.append(
            str(made._replace(properties=_RECORD.format(key, _RESULT), indent=head["indent"], location=location))
        )
        names.append(result)
    _rename(lines, place.end + 1, f"%{head['name']}", names)
    left = "" if not kept else f"%tle_kept_{number}" + (f":{len(kept)}" if len(kept) > 1 else "") + " = "
    lines[place.begin] = f"{head['indent']}{left}{head['rest']}"
    shorter = tail._replace(operands=tuple(operands), types=tuple(kept))
    lines[place.yields] = "\n".join([*before, str(shorter)])
    lines[place.end] = "\n".join([with_result_types(lines[place.end], kept), *after])


def _markers(lines: Sequence[str], symbol: str) -> dict[tuple[str, int], tuple[int, GenericOperation]]:
    found = {}
    for number, line in enumerate(lines):
        if f'symbol = "{symbol}"' in line and generic_name(line) == OPERATION:
            operation = read_generic(line)
            which, index = operation.property("libname").strip('"').split()
            found[which, int(index)] = number, operation
    return found


def _give(
    lines: list[str],
    place: Place,
    yielded: dict[tuple[str, int], tuple[int, GenericOperation]],
    given: dict[tuple[str, int], tuple[int, GenericOperation]],
) -> None:
    head, tail = HEAD.match(lines[place.begin]), read_generic(lines[place.yields])
    assert head is not None
    kept, types = list(tail.operands), list(tail.types)
    names = [f"%{head['name']}" + (f"#{i}" if len(kept) > 1 else "") for i in range(len(kept))]
    before: list[str] = []
    for key in sorted(given, key=lambda key: key[1]):
        (line, marker), (end, result) = yielded[key], given[key]
        wide = f"%tle_given_{key[0]}_{key[1]}"
        convert = GenericOperation("ttg.convert_layout", marker.operands, marker.types, result.result_types, wide)
        before.append(str(convert._replace(indent=tail.indent, location=tail.location)))
        kept.insert(key[1], wide)
        types.insert(key[1], result.result_types[0])
        names.insert(key[1], result.results)
        lines[line] = lines[end] = ""
    made = f"%tle_specialized_{next(iter(given))[0]}"
    several = len(kept) > 1
    for index, name in reversed(list(enumerate(names))):
        rename(lines, place.end + 1, name, f"{made}#{index}" if several else made)
    lines[place.begin] = f"{head['indent']}{made}{f':{len(kept)}' if several else ''} = {head['rest']}"
    lines[place.yields] = "\n".join([*before, str(tail._replace(operands=tuple(kept), types=tuple(types)))])
    lines[place.end] = with_result_types(lines[place.end], types)


def _rename(lines: list[str], begin: int, name: str, names: Sequence[str]) -> None:
    for index, other in enumerate(names):
        rename(lines, begin, f"{name}#{index}" if len(names) > 1 else name, other)


def rename(lines: list[str], begin: int, name: str, other: str) -> None:
    """Another name for a value on the lines from ``begin`` on."""
    pattern = re.compile(re.escape(name) + r"(?![\w$.\-#:])")
    for number in range(begin, len(lines)):
        if name in lines[number]:
            lines[number] = pattern.sub(lambda _: other, lines[number])
