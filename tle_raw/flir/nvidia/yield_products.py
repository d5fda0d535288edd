"""The default partition hands on sums of products as tensor cores leave them.

What it returns crosses in a layout that knows nothing of products (``partition_results.py``), and Triton's passes do
not look across ``ttg.warp_yield``. So a sum would be brought into that layout in the partition, by way of shared
memory, of which none is free there: the buffers of all partitions are in use until the last one is done. Here a
yielded tensor with the dims of a product of the partition takes the product's layout, and the conversion stands behind
the operation, where Triton's passes see what uses the value.

The sums of an MLA decode of 64 heads, 64×512 of f32, would take 128 KiB beside the 216 KiB of its tiles: that of
``samples/benchmarks/tilelang_regions.py`` has no room without this. ``TLE_RAW_DISABLE_PASSES=yield-products``
compiles without it.
"""

from __future__ import annotations

from tle_raw.flir.nvidia.blocked_layout import read_tensor
from tle_raw.flir.nvidia.open_crossings import is_tensor
from tle_raw.flir.nvidia.partition_results import HEAD, Place, places, rename, result_types, with_result_types
from tle_raw.linker.mlir.generic_operation import GenericOperation, generic_name, read_generic

Shape = tuple[tuple[int, ...], str]
_PRODUCT, _CONVERT = "ttng.warp_group_dot", "ttg.convert_layout"


def yield_products(text: str) -> tuple[str, int]:
    """TritonGPU text in generic form, and how many results have another layout."""
    lines, found = text.splitlines(), 0
    for number, place in reversed(list(enumerate(places(lines)))):
        found += _change(lines, place, number)
    return ("\n".join(lines), found) if found else (text, 0)


def _change(lines: list[str], place: Place, number: int) -> int:
    layouts = _layouts(lines[place.begin : place.yields])
    tail, types = read_generic(lines[place.yields]), result_types(lines[place.end])
    head = HEAD.match(lines[place.begin])
    wanted = {
        index: layouts[dims]
        for index, type_ in enumerate(types)
        if is_tensor(type_) and (dims := _dims(type_)) in layouts and layouts[dims] != type_
    }
    if not wanted or head is None:
        return 0
    operands, before, after = list(tail.operands), [], []
    for index, wide in wanted.items():
        inner, outer = f"%tle_yielded_{number}_{index}", f"%tle_taken_{number}_{index}"
        name = f"%{head['name']}" + (f"#{index}" if len(types) > 1 else "")
        rename(lines, place.end + 1, name, outer)
        into = GenericOperation(_CONVERT, (operands[index],), (types[index],), (wide,), inner)
        back = GenericOperation(_CONVERT, (name,), (wide,), (types[index],), outer)
        before.append(str(into._replace(indent=tail.indent, location=tail.location)))
        after.append(str(back._replace(indent=head["indent"], location=tail.location)))
        operands[index], types[index] = inner, wide
    made = str(tail._replace(operands=tuple(operands), types=tuple(types)))
    lines[place.end : place.end + 1] = [with_result_types(lines[place.end], types), *after]
    lines[place.yields : place.yields + 1] = [*before, made]
    return len(wanted)


def _layouts(lines: list[str]) -> dict[Shape, str]:
    """The types of the products' results, by dims and dtype."""
    products = (read_generic(line) for line in lines if _PRODUCT in line and generic_name(line) == _PRODUCT)
    return {_dims(product.result_types[0]): product.result_types[0] for product in products}


def _dims(type_: str) -> Shape:
    dims, element = read_tensor(type_)[:2]
    return tuple(dims), element
