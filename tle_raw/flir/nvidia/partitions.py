"""Partitions of a kernel's warps: each gets its layouts as a kernel of its own number of warps does.

Triton's conversion to TritonGPU gives all tensors of a module layouts for the module's warps, those of
``ttg.warp_specialize`` too, and a partition of another number of warps does not verify then. So the body of each
partition is cut out as a function of a module of its own, converted there, and put back::

    "ttg.warp_specialize.partitions"(%a) ({          "tt.func"() <{function_type = (!ttg.memdesc<...>) -> (), ...}> ({
    ^bb0(%arg0: !ttg.memdesc<...>):                  ^bb0(%arg0: !ttg.memdesc<...>):
      ...                                     <->      ...
      "ttg.warp_return"() : () -> ()                   "tt.return"() : () -> ()
    }) : (!ttg.memdesc<...>) -> ()                   }) : () -> ()

A partition gets no tensor from outside, so that nothing else ties the two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tle_raw.errors import RegionError
from tle_raw.flir.nvidia.partition_results import give_results, hold_results
from tle_raw.linker.mlir.generic_operation import generic_name
from tle_raw.linker.mlir.text import matching_bracket, split_top_level

SPECIALIZE, PARTITIONS = "ttg.warp_specialize", "ttg.warp_specialize.partitions"
_WARPS = re.compile(r"partitionNumWarps = array<i32: ([\d, ]+)>")
_RETURN, _FUNCTION_RETURN = '"ttg.warp_return"', '"tt.return"'
_CLOSED = re.compile(r"\s*\}(, \{|\))")  # of an operation's regions one, or the last one
_DEFINED = re.compile(r"^(#[\w$.]+) = ")
_LOCATION = re.compile(r"^#loc(\d*)$")
_LOCATIONS = 1_000_000  # more than a module has
_NAMES = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<value>%[\w$.\-]+)|(?P<alias>#[\w$.]+)')


@dataclass(frozen=True)
class Partition:
    """The lines between the braces of a partition's region, ``begin`` to ``end`` without it, and its warps."""

    begin: int
    end: int
    num_warps: int


def find_partitions(lines: Sequence[str]) -> list[Partition]:
    """The workers' partitions of a module in generic form, in the order of the text."""
    found: list[Partition] = []
    warps: list[list[int]] = []  # of operations that are open
    for number in [number for number, line in enumerate(lines) if SPECIALIZE in line]:
        line = lines[number]
        name = generic_name(line)
        if name == SPECIALIZE:
            warps.append(warps_of_workers(line))
        elif name == PARTITIONS:
            regions = list(_regions(lines, number))
            counts_here = warps.pop() if warps else []
            if len(regions) != len(counts_here):
                raise RegionError("partitions and their warps do not agree", hint="report this with the kernel")
            found += [Partition(begin, end, count) for (begin, end), count in zip(regions, counts_here)]
    return found


def warps_of_workers(text: str) -> list[int]:
    """The warps of each worker, of the text of a ``ttg.warp_specialize``."""
    counts = _WARPS.search(text)
    return [int(count) for count in counts[1].split(",")] if counts else []


def warps_of_lines(lines: Sequence[str], num_warps: int) -> list[tuple[int, int]]:
    """Of each line which partition it stands in, counted from 1, 0 outside, and that one's warps."""
    found = [(0, num_warps)] * len(lines)
    for number, partition in enumerate(find_partitions(lines), 1):
        found[partition.begin : partition.end] = [(number, partition.num_warps)] * (partition.end - partition.begin)
    return found


def captured_values(lines: Sequence[str]) -> Iterator[tuple[int, int, str, str, int]]:
    """Of each argument of a worker's partition, in generic form: where the partition begins and ends, the argument,
    the value that it is outside, and the line that gives it.
    """
    outer = -1  # which gives the values on Triton 3.6
    for number in [number for number, line in enumerate(lines) if SPECIALIZE in line]:
        line = lines[number]
        name = generic_name(line)
        if name == SPECIALIZE:
            outer = number
        elif name == PARTITIONS:
            giving = number if (own := _operands(line)) else outer
            given = own or _operands(lines[outer])
            for begin, end in _regions(lines, number):
                if lines[begin].lstrip().startswith("^"):
                    for argument, value in zip(_arguments(lines[begin]), given):
                        yield begin, end, argument.partition(":")[0].strip(), value, giving


def _operands(line: str) -> list[str]:
    start = line.index('"(') + 2
    return [name.strip() for name in line[start : line.index(")", start)].split(",") if name]


def convert_apart(text: str, convert: Callable[[str, int | None], str]) -> str:
    """A module in generic form after a conversion of each of its partitions, and of the rest, by itself.

    Parameters
    ----------
    convert : a module's text after its conversion for so many warps; None of the kernel's own. Both in generic form.
    """
    lines = text.splitlines()
    partitions = find_partitions(lines)
    aliases = [line for line in lines if _DEFINED.match(line)]
    parts = [
        _renamed(convert(_outlined(lines[part.begin : part.end], aliases), part.num_warps), number)
        for number, part in enumerate(partitions, 1)
    ]
    rest = convert("\n".join(hold_results(_emptied(lines, partitions))), None).splitlines()
    return "\n".join([*(line for part in parts for line in part.aliases), *_filled(give_results(rest), parts)])


@dataclass(frozen=True)
class _Part:
    aliases: list[str]
    body: list[str]


def _regions(lines: Sequence[str], opened: int) -> Iterator[tuple[int, int]]:
    begin, depth = opened + 1, 1
    for number in range(opened + 1, len(lines)):
        line = lines[number]
        if line.endswith("({"):  # in generic form other braces of a line are in pairs
            depth += 1
            continue
        closed = _CLOSED.match(line)
        if closed is None:
            continue
        is_last = closed[1] == ")"
        if depth > 1:
            depth -= is_last
            continue
        yield begin, number
        if is_last:
            return
        begin = number + 1


def _emptied(lines: Sequence[str], partitions: Sequence[Partition]) -> list[str]:
    made = list(lines)
    for partition in reversed(partitions):
        label = [line for line in lines[partition.begin : partition.begin + 1] if line.lstrip().startswith("^")]
        made[partition.begin : partition.end] = [*label, f"{_RETURN}() : () -> ()"]
    return made


def _filled(lines: list[str], parts: Sequence[_Part]) -> list[str]:
    partitions = find_partitions(lines)
    if len(partitions) != len(parts):
        raise RegionError("a partition was lost in one of Triton's passes", hint="report this with the kernel")
    for partition, part in reversed(list(zip(partitions, parts))):
        lines[partition.begin : partition.end] = part.body
    return lines


def _outlined(body: Sequence[str], aliases: Sequence[str]) -> str:
    types = ", ".join(_argument_types(body[0])) if body and body[0].lstrip().startswith("^") else ""
    properties = f'function_type = ({types}) -> (), sym_name = "partition", sym_visibility = "public"'
    returned = [line.replace(_RETURN, _FUNCTION_RETURN, 1) if _RETURN in line else line for line in body]
    head = ['"builtin.module"() ({', f'"tt.func"() <{{{properties}}}> ({{']
    return "\n".join([*aliases, *head, *returned, "}) : () -> ()", "}) : () -> ()"])


def _arguments(label: str) -> list[str]:
    start = label.index("(")
    return split_top_level(label[start + 1 : matching_bracket(label, start)])


def _argument_types(label: str) -> list[str]:
    return [argument.partition(": ")[2].rpartition(" loc(")[0].strip() or argument for argument in _arguments(label)]


def _renamed(text: str, number: int) -> _Part:
    """The body of a module's only function, with names that are nobody else's."""
    prefix, first = f"p{number}_", number * _LOCATIONS
    lines = text.splitlines()
    aliases = {found[1] for line in lines if (found := _DEFINED.match(line))}

    def rename(found: re.Match[str]) -> str:
        if found["value"]:
            return f"%{prefix}{found['value'][1:]}"
        if found["alias"] not in aliases:
            return found[0]
        location = _LOCATION.match(found["alias"])
        return f"#loc{first + int(location[1] or 0)}" if location else f"#{prefix}{found['alias'][1:]}"

    opened = next(number for number, line in enumerate(lines) if generic_name(line) == "tt.func")
    begin, end = next(_regions(lines, opened))
    body = [_NAMES.sub(rename, line).replace(_FUNCTION_RETURN, _RETURN, 1) for line in lines[begin:end]]
    return _Part([_NAMES.sub(rename, line) for line in lines if _DEFINED.match(line)], body)
