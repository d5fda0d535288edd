"""After the conversion to TritonGPU: the markers of ``open_crossings`` become their operations again."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cached_property

from tle_raw.errors import RegionError
from tle_raw.flir.nvidia.blocked_layout import Blocked, coalesced, in_tensor_memory, layout_of, read_tensor, with_layout
from tle_raw.flir.nvidia.buffer_types import layout_aliases, read_buffer_type
from tle_raw.flir.nvidia.line_edits import LineEdits
from tle_raw.flir.nvidia.open_crossings import BUFFER, CROSSING, SCALAR, TENSOR, is_tensor
from tle_raw.flir.nvidia.partitions import warps_of_lines
from tle_raw.linker.mlir.generic_operation import GenericOperation, generic_name, read_generic
from tle_raw.linker.mlir.text import OPERATION, find_lines, unescape
from tle_raw.regions.ports import KEPT, LAYOUT

_FOLLOWED = (
    "arith.constant",
    "tt.splat",
    "ttg.convert_layout",
    "tti.experimental_memdesc_to_i32",
    "tti.experimental_memdesc_to_i64",
)
_LAID_OUT = f'symbol = "{LAYOUT}"'
_MARKED = f'symbol = "{CROSSING}"'
_SYMBOL = 'symbol = "tle'
_ALIAS = re.compile(r"#[\w$.]+")
CONVERT, _CONSTANT = "ttg.convert_layout", "arith.constant"
_DENSE = re.compile(r"value = dense<([^<>]*)>")
# Operations whose operands and results have one layout, a part of one, or one that is named beside it.
_SAME_LAYOUT = (
    *("arith.", "math.", "scf.", "cf.", CONVERT, "ttg.local", "tt.load", "tt.store", "tt.splat", "tt.broadcast"),
    *("tt.expand_dims", "tt.addptr", "tt.make_range", "tt.extern_elementwise", "tt.atomic", "tt.reduce", "tt.dot"),
)
_DERIVES = re.compile(rf'"(?<!loc\(")(?!{"|".join(map(re.escape, _SAME_LAYOUT))})[\w.]+"\((?P<line>.*)')
# What reads a tensor out of a buffer: its layout is ours to choose.
_LOADS = ("ttg.local_load",)
# What reads or writes a tile of tensor memory: the threads of a warp have a row each.
_TENSOR_LOAD, _TENSOR_STORE = "ttng.tmem_load", "ttng.tmem_store"


def close_crossings(text: str, num_warps: int) -> str:
    """TritonGPU text in generic form, with the operations themselves in place of the markers.

    The conversion's own layout has one element of a thread beside that of the next thread, and Triton's passes keep it
    where no access to global memory asks for another: a sum of what is loaded from buffers would stay in it up to the
    store. So the layout of the first load from a buffer becomes one with 16 bytes of a thread in a row, for all that
    have it, where no operation derives another layout from it. A load that wants another one gets that, and a
    conversion, which Triton's passes take away where they can.

    Raises
    ------
    RegionError : what rode along with a marker is not to be found.
    """
    given = text.splitlines()
    aliases = layout_aliases(given)
    closing, edits = _Closing(num_warps, aliases, text), LineEdits(given)
    warps = warps_of_lines(given, num_warps)
    for number in find_lines(text, _SYMBOL, *(f'"{name}"' for name in _FOLLOWED)):
        if (made := closing.close(given[number], warps[number][1])) is not None:
            edits.replace(number, made)
    for number in find_lines(text, *(f"{alias} = " for alias in closing.redefined)):
        if given[number].split(" ", 1)[0] in closing.redefined:
            edits.replace(number, [])
    named = {alias: layout.text for alias, layout in closing.redefined.items()}
    named |= {layout.name: layout.text for layout in closing.layouts}
    return "\n".join([*(f"{alias} = {text}" for alias, text in named.items()), edits.text()])


def _free_aliases(text: str, aliases: dict[str, str]) -> set[str]:
    """The names of layouts that may be anything: no operation that uses one derives another layout from it."""
    free = {name for name, text in aliases.items() if text.startswith("#ttg.blocked")}
    for found in _DERIVES.finditer(text):
        free.difference_update(_ALIAS.findall(found["line"]))
    return free


@dataclass
class _Closing:
    num_warps: int
    aliases: dict[str, str]
    text: str
    layouts: dict[Blocked, None] = field(default_factory=dict)
    redefined: dict[str, Blocked] = field(default_factory=dict)
    # The latest line that defines a name: the riders of a marker stand before it, in its block.
    known: dict[str, str] = field(default_factory=dict)
    stored: int = 0
    constants: int = 0

    @cached_property
    def free(self) -> set[str]:
        """Layouts that may be anything."""
        return _free_aliases(self.text, self.aliases)

    def close(self, line: str, num_warps: int) -> list[str] | None:
        """What stands in place of a line; None where it stays."""
        self.num_warps = num_warps
        if _SYMBOL not in line:
            if generic_name(line) in _FOLLOWED:
                self.known[line.split("=", 1)[0].strip()] = line
            return None
        if _LAID_OUT in line:
            return self._laid_out(read_generic(line))
        if _MARKED not in line:
            return None
        marker = read_generic(line)
        name, kinds, properties, attributes, gives = json.loads(unescape(marker.property("libname")))
        operands, types = [], []
        before: list[str] = []
        for kind, operand, type_ in zip(kinds, marker.operands, marker.types):
            rider = (operand, type_) if kind == TENSOR else self._rider(operand, kind, line, before)
            operands.append(rider[0])
            types.append(rider[1])
        result = marker.result_types[0] if is_tensor(gives) else gives
        operation = GenericOperation(
            name,
            tuple(operands),
            tuple(types),
            (result,) if result else (),
            marker.results if result else "",
            properties,
            attributes,
            marker.indent,
            marker.location,
        )
        return [*before, *self._on_layouts(operation)]

    def _on_layouts(self, operation: GenericOperation) -> list[str]:
        """The operation, where it has a layout of its own with the conversion."""
        if operation.name == _TENSOR_LOAD:
            return self._converted(operation, in_tensor_memory(operation.result_types[0], self.num_warps))
        if operation.name == _TENSOR_STORE:
            return self._stored(operation)
        return self._load(operation) if operation.name in _LOADS else [str(operation)]

    def _rider(self, name: str, kind: str, line: str, before: list[str]) -> tuple[str, str]:
        """The value that a splat carries, and its type. One that became a constant is made again in front."""
        operation = self._definition(name, line)
        if kind == SCALAR and operation.name == _CONSTANT:
            return self._constant(operation, before)
        while operation.name == CONVERT:
            operation = self._definition(operation.operands[0], line)
        if kind == BUFFER:
            operation = self._definition(operation.operands[0], line)
        assert kind in (BUFFER, SCALAR)
        return operation.operands[0], operation.types[0]

    def _constant(self, splat: GenericOperation, before: list[str]) -> tuple[str, str]:
        """``dense<true> : tensor<64xi1, ...>`` as one value."""
        self.constants += 1
        type_, value = read_tensor(splat.result_types[0])[1], _DENSE.search(splat.properties)
        if value is None:
            raise RegionError(
                "a constant is printed in a form that this release of tle_raw does not know", log=str(splat)
            )
        text = value[1] if type_ == "i1" else f"{value[1]} : {type_}"
        name = f"%tle_constant_{self.constants}"
        before.append(
            str(
                GenericOperation(_CONSTANT, (), (), (type_,), name, f"value = {text}", "", splat.indent, splat.location)
            )
        )
        return name, type_

    def _definition(self, name: str, line: str) -> GenericOperation:
        if name not in self.known:
            raise RegionError(
                "an operation on a shared buffer lost its buffer in one of Triton's passes",
                log=line.strip()[:300],
                hint="report this with the kernel",
            )
        return read_generic(self.known[name])

    def _load(self, operation: GenericOperation) -> list[str]:
        given = operation.result_types[0]
        order = read_buffer_type(operation.types[0], self.aliases).order
        layout = coalesced(given, order, self.num_warps)
        alias = layout_of(given)
        if alias in self.free and self.redefined.setdefault(alias, layout) == layout:
            return [str(operation)]
        return self._converted(operation, layout)

    def _laid_out(self, marker: GenericOperation) -> list[str]:
        """A tensor in the layout that the kernel says.

        A reshape that may order elements as it likes is what Triton's passes take a layout from; ``release_layouts``
        sees to it that it moves nothing.
        """
        given, name = marker.result_types[0], f"%tle_laid_{marker.results[1:]}"
        if not given.startswith("tensor<"):  # of equal elements Triton takes one, and spreads what becomes of it
            return [str(marker._replace(name="tt.bitcast", properties="", attributes=""))]
        wide = with_layout(given, unescape(marker.property("libname")))
        loc = {"indent": marker.indent, "location": marker.location}
        first = GenericOperation(CONVERT, marker.operands, (given,), (wide,), f"{name}_a", **loc)
        held = GenericOperation(
            "tt.reshape", (f"{name}_a",), (wide,), (wide,), f"{name}_b", "allow_reorder, efficient_layout", **loc
        )
        record = f'libname = "", libpath = "", pure = true, symbol = "{KEPT}"'
        kept = GenericOperation(OPERATION, (f"{name}_b",), (wide,), (wide,), f"{name}_c", record, **loc)
        last = GenericOperation(CONVERT, (f"{name}_c",), (wide,), (given,), marker.results, **loc)
        return [str(first), str(held), str(kept), str(last)]

    def _stored(self, operation: GenericOperation) -> list[str]:
        """The tile of tensors is the operand that has a layout."""
        at = next(index for index, type_ in enumerate(operation.types) if is_tensor(type_))
        given = operation.types[at]
        layout = in_tensor_memory(given, self.num_warps)
        self.layouts[layout] = None
        self.stored += 1
        wide, name = with_layout(given, layout.name), f"%tle_stored_{self.stored}"
        convert = GenericOperation(
            CONVERT,
            (operation.operands[at],),
            (given,),
            (wide,),
            name,
            indent=operation.indent,
            location=operation.location,
        )
        operands = tuple(name if index == at else operand for index, operand in enumerate(operation.operands))
        types = tuple(wide if index == at else type_ for index, type_ in enumerate(operation.types))
        return [str(convert), str(operation._replace(operands=operands, types=types))]

    def _converted(self, operation: GenericOperation, layout: Blocked) -> list[str]:
        """The load with a layout of its own, and a conversion to the one that it was given."""
        given = operation.result_types[0]
        self.layouts[layout] = None
        wide, name = with_layout(given, layout.name), f"%tle_wide_{operation.results[1:]}"
        load = GenericOperation(
            operation.name,
            operation.operands,
            operation.types,
            (wide,),
            name,
            operation.properties,
            operation.attributes,
            operation.indent,
            operation.location,
        )
        convert = GenericOperation(
            CONVERT, (name,), (wide,), (given,), operation.results, indent=operation.indent, location=operation.location
        )
        return [str(load), str(convert)]
