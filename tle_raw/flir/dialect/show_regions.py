"""Write the regions of a module of Triton's IR as operations of the TLE dialect, in place of their port markers."""

from __future__ import annotations

from collections.abc import Iterator

from tle_raw.flir.dialect import definitions as tle
from tle_raw.flir.dialect.operations import AttributeValue, SsaValue, SymbolName, TleOperation, element_of, verify
from tle_raw.flir.dialect.print_operations import custom_form, generic_form
from tle_raw.flir.nvidia.read_ports import Region, holds_ports, read_regions
from tle_raw.fragments.bound import CONST, TILE, BoundParameter
from tle_raw.fragments.dtypes import DType
from tle_raw.fragments.fragment import fragment_by_identity


def show_regions(text: str) -> str:
    """A module's text, in Triton's form or in MLIR's generic one, with each region as one ``tle.dsl_region``.

    Raises
    ------
    RegionError : the markers do not form whole regions.
    """
    if not holds_ports(text):
        return text
    lines = text.splitlines()
    form = generic_form if '"builtin.module"' in text else custom_form
    replaced: dict[int, list[str]] = {}
    for region in read_regions(lines):
        replaced.update((port.line, []) for port in [*region.opened, *region.closed])
        replaced[region.call.line] = form(verify(region_operation(region)), region.call.operation.indent)
    return "\n".join(line for number, old in enumerate(lines) for line in replaced.get(number, [old])) + "\n"


def regions_of(text: str) -> list[TleOperation]:
    """The regions of a module's text, in order."""
    return [verify(region_operation(region)) for region in read_regions(text.splitlines())]


def region_operation(region: Region) -> TleOperation:
    """What one region's markers stand for."""
    bound, call = region.record.bound, region.call.operation
    fragment = fragment_by_identity(region.record.fragment)
    function = SymbolName(fragment.symbol)
    plain = iter(zip(call.operands, call.types))
    tiles = {port.parameter: port.operation for port in region.opened}
    operands, arguments, effects = [], [], []
    for index, p in enumerate(bound.parameters):
        if p.kind == CONST or (p.kind == TILE and p.effect == "Out"):
            continue
        marker = tiles.get(index)
        operand = SsaValue(*((marker.operands[0], marker.types[0]) if marker else next(plain)))
        operands.append(operand)
        arguments.append(SsaValue(f"%tle.{p.name}", element_of(operand.type) if region.is_element else operand.type))
        effects.append(p.effect)
    results = [SsaValue(port.operation.result, port.operation.result_type) for port in region.closed]
    if bound.result is not None or region.is_element:
        results.append(SsaValue(call.result, call.result_type))
    attributes: dict[str, AttributeValue] = {
        "dialect": fragment.dialect,
        "function": function,
        "fragment": bound.name,
        "effects": tuple(effects),
    }
    if bound.names:
        attributes["names"] = {name: v.name if isinstance(v, DType) else v for name, v in bound.names}
    if region.is_element:
        attributes["elementwise"] = True
    if dict(call.attributes)["pure"] == "true":
        attributes["pure"] = True
    body = tuple(_body(region, function, fragment.inline, {a.name: a for a in arguments}))
    return TleOperation(
        tle.DSL_REGION, tuple(operands), tuple(results), attributes, tuple(arguments), body, call.location
    )


def _body(region: Region, function: SymbolName, inline: bool, arguments: dict[str, SsaValue]) -> Iterator[TleOperation]:
    bound, call = region.record.bound, region.call.operation
    tensors = {port.parameter: port.operation.result_type for port in region.opened}
    crossing: list[SsaValue] = []
    tiles: dict[int, SsaValue] = {}
    for index, p in enumerate(bound.parameters):
        if p.is_descriptor:
            crossing.append(arguments[f"%tle.{p.name}"])
        elif p.kind == TILE:
            tile = tiles[index] = SsaValue(f"%tle.{p.name}.tile", f"memref<{tensors[index][len('tensor<') : -1]}, 3>")
            if p.effect == "Out":
                yield TleOperation(tle.ALLOCATE, (), (tile,), location=call.location)
            else:
                yield TleOperation(tle.PACK, (arguments[f"%tle.{p.name}"],), (tile,), location=call.location)
            extract, parts = _parts(p)
            yield TleOperation(extract, (tile,), parts, location=call.location)
            crossing.extend(parts)
        elif f"%tle.{p.name}" in arguments:
            crossing.append(arguments[f"%tle.{p.name}"])
    result: tuple[SsaValue, ...] = ()
    if bound.result is not None or region.is_element:
        type_ = element_of(call.result_type) if region.is_element else call.result_type
        result = (SsaValue("%tle.return", type_),)
    attributes: dict[str, AttributeValue] = {"callee": function} if inline else {"callee": function, "noinline": True}
    yield TleOperation(tle.CALL, tuple(crossing), result, attributes, location=call.location)
    updated = []
    for port in region.closed:
        value = SsaValue(f"%tle.{bound.parameters[port.parameter].name}.out", port.operation.result_type)
        updated.append(value)
        yield TleOperation(tle.UNPACK, (tiles[port.parameter],), (value,), location=port.operation.location)
    yield TleOperation(tle.YIELD, (*updated, *result), location=call.location)


def _parts(p: BoundParameter) -> tuple[tle.Definition, tuple[SsaValue, ...]]:
    """How a tile crosses: the values that the function is called with."""
    if not p.is_memref:
        return tle.EXTRACT_ADDRESS, (SsaValue(f"%tle.{p.name}.address", "i32"),)
    axes = range(len(p.dims))
    numbers = ["offset", *(f"size{i}" for i in axes), *(f"stride{i}" for i in axes)]
    pointers = [SsaValue(f"%tle.{p.name}.{part}", "!llvm.ptr<3>") for part in ("allocated", "aligned")]
    return tle.EXTRACT_DESCRIPTOR, (*pointers, *(SsaValue(f"%tle.{p.name}.{part}", "i64") for part in numbers))
