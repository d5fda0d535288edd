"""Global memory: pointers as regions of an argument, loads and stores of them."""

from __future__ import annotations

from tle_raw.flir.cpu.mlir_values import Operation
from tle_raw.targets.ascend.linalg.types import element_of, is_tensor, shape_of
from tle_raw.targets.ascend.linalg.values import (
    Affine,
    Buffer,
    Mask,
    Pointers,
    Scalar,
    Splat,
    Tile,
    Value,
    memref_type,
    row_major,
    tensor_type,
)
from tle_raw.targets.ascend.linalg.writer import Writer


def add_pointers(writer: Writer, op: Operation) -> Value:
    pointers, places = (writer.values[operand] for operand in op.operands)
    if not isinstance(pointers, Pointers):
        raise writer.refuse("pointers that a kernel reads from memory are not converted")
    if isinstance(places, Scalar):
        places = Affine((), places, ())
    if not isinstance(places, Affine):
        raise writer.refuse("pointers to elements that do not lie in rows and columns are not converted")
    offset = writer.binary("addi", pointers.at.offset, places.offset)
    strides = tuple(writer.binary("addi", a, b) for a, b in zip(pointers.at.strides, places.strides))
    return Pointers(pointers.base, pointers.element, Affine(pointers.at.shape, offset, strides))


def region(writer: Writer, pointers: Pointers) -> tuple[str, str]:
    """The memref of what pointers point to: its name and type."""
    at = pointers.at
    shape = at.shape or (1,)
    strides = [writer.index(stride) for stride in at.strides] or [writer.constant(1, "index")]
    shown = [str(stride.number) if stride.number is not None else stride.name for stride in strides]
    typed = [str(stride.number) if stride.number is not None else "?" for stride in strides]
    offset = writer.index(at.offset)
    layout = f"strided<[{', '.join(typed)}], offset: {offset.number if offset.number is not None else '?'}>"
    type_ = memref_type(shape, pointers.element, layout)
    begin = offset.number if offset.number is not None else offset.name
    name = writer.write(
        f"memref.reinterpret_cast {pointers.base} to offset: [{begin}], sizes: [{', '.join(map(str, shape))}], "
        f"strides: [{', '.join(shown)}] : memref<?x{pointers.element}> to {type_}"
    )
    return name, type_


def part(
    writer: Writer, name: str, type_: str, sizes: list[Scalar], strides: list[str], element: str
) -> tuple[str, str]:
    """The first elements of a memref along each axis: name and type."""
    zeros, ones = ", ".join("0" for _ in sizes), ", ".join("1" for _ in sizes)
    shown = [str(size.number) if size.number is not None else size.name for size in sizes]
    dims = tuple(size.number if size.number is not None else "?" for size in sizes)
    offset = type_.partition("offset: ")[2].rstrip(">")
    layout = f"strided<[{', '.join(strides)}]{f', offset: {offset}' if offset else ''}>"
    result = memref_type(dims, element, layout)
    return writer.write(f"memref.subview {name}[{zeros}] [{', '.join(shown)}] [{ones}] : {type_} to {result}"), result


def strides_of(type_: str, shape: tuple[int, ...]) -> list[str]:
    """Those that a memref's type says."""
    inside = type_.partition("strided<[")[2].partition("]")[0]
    return inside.split(", ") if inside else [str(stride) for stride in row_major(shape)]


def mask_sizes(writer: Writer, mask: Value | None, shape: tuple[int, ...]) -> list[Scalar] | None:
    """How many elements along each axis a mask means; None where all."""
    if mask is None:
        return None
    if not isinstance(mask, Mask):
        raise writer.refuse("a mask is converted where it says how many elements are meant: `offsets < size`")
    known = dict(mask.sizes)
    return [known.get(axis, writer.constant(dim, "index")) for axis, dim in enumerate(shape)]


def allocated(writer: Writer, shape: tuple[int, ...], element: str) -> Buffer:
    buffer = Buffer("", shape, element)
    return Buffer(writer.write(f"memref.alloc() : {buffer.type}"), shape, element)


def content(writer: Writer, buffer: Buffer) -> Tile:
    """A tensor of memory that nothing writes any more."""
    name = writer.write(f"bufferization.to_tensor {buffer.name} restrict writable : {buffer.type}")
    return Tile(name, buffer.shape, buffer.element)


def put(writer: Writer, tile: Tile, memory: str, type_: str) -> None:
    """A tensor into a memref of its shape."""
    writer.line(
        f"bufferization.materialize_in_destination {tile.name} in writable {memory} : ({tile.type}, {type_}) -> ()"
    )


def copied(writer: Writer, source: tuple[str, str], target: tuple[str, str]) -> None:
    writer.line(f"memref.copy {source[0]}, {target[0]} : {source[1]} to {target[1]}")


def load(writer: Writer, op: Operation) -> Value:
    pointers = _pointers(writer, op)
    operands = [writer.values[operand] for operand in list(op.operands)[1:]]
    mask, other = [*operands, None, None][:2]
    memory, type_ = region(writer, pointers)
    if not is_tensor(op.results[0].type):
        if mask is not None:
            raise writer.refuse("a masked load of one number is not converted")
        zero = writer.constant(0, "index")
        return Scalar(writer.write(f"memref.load {memory}[{zero.name}] : {type_}"), pointers.element)
    shape = shape_of(op.results[0].type)
    buffer = allocated(writer, shape, pointers.element)
    sizes = mask_sizes(writer, mask, shape)
    if sizes is None:
        copied(writer, (memory, type_), (buffer.name, buffer.type))
        return content(writer, buffer)
    if isinstance(other, (Splat, Affine)):
        value = other.value if isinstance(other, Splat) else other.offset
        writer.line(f"linalg.fill ins({value.name} : {value.type}) outs({buffer.name} : {buffer.type})")
    ends = [
        part(writer, name, of, sizes, strides_of(of, shape), pointers.element)
        for name, of in ((memory, type_), (buffer.name, buffer.type))
    ]
    copied(writer, ends[0], ends[1])
    return content(writer, buffer)


def store(writer: Writer, op: Operation) -> None:
    pointers, value = _pointers(writer, op), writer.values[list(op.operands)[1]]
    mask = writer.values[list(op.operands)[2]] if len(op.operands) > 2 else None
    memory, type_ = region(writer, pointers)
    if isinstance(value, Scalar):
        if mask is not None:
            raise writer.refuse("a masked store of one number is not converted")
        writer.line(f"memref.store {value.name}, {memory}[{writer.constant(0, 'index').name}] : {type_}")
        return
    tile = writer.tile(value)
    put_part(writer, tile, memory, type_, mask_sizes(writer, mask, tile.shape))


def put_part(writer: Writer, tile: Tile, memory: str, type_: str, sizes: list[Scalar] | None) -> None:
    """The first elements of a tensor, all where there are no sizes, into a memref."""
    if sizes is None:
        put(writer, tile, memory, type_)
        return
    name, into = part(writer, memory, type_, sizes, strides_of(type_, tile.shape), tile.element)
    zeros, ones = ", ".join("0" for _ in sizes), ", ".join("1" for _ in sizes)
    shown = ", ".join(str(size.number) if size.number is not None else size.name for size in sizes)
    dims = tuple(size.number if size.number is not None else "?" for size in sizes)
    cut_type = tensor_type(dims, tile.element)  # type: ignore[arg-type]
    cut = writer.write(f"tensor.extract_slice {tile.name}[{zeros}] [{shown}] [{ones}] : {tile.type} to {cut_type}")
    writer.line(f"bufferization.materialize_in_destination {cut} in writable {name} : ({cut_type}, {into}) -> ()")


def _pointers(writer: Writer, op: Operation) -> Pointers:
    pointers = writer.values[op.operands[0]]
    assert isinstance(pointers, Pointers), op
    return pointers


def argument(name: str, type_: str, zero: Scalar) -> Pointers:
    """What a kernel's pointer argument is."""
    return Pointers(name, element_of(type_), Affine((), zero, ()))
