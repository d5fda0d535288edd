"""The operations that reader, compute and writer consist of, under the names that release 0.81.1 has for them.

Parameters say what stands there: a circular buffer (``in0``, ``in1``, ``scaler``, ``out``), the number of a tile within
one (``tile0`` ...), a register of DST (``dst`` ...), an amount of tiles (``count``), a number whose 32 bits are handed
over (``value``, ``low``, ``high``), an integer (``integer``), or for data movement a tile of a tensor (``tile``), its
accessor (``tensor``), and an address in this core's L1 (``address``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from tle_raw.errors import LoweringError

BUFFERS = frozenset({"in0", "in1", "scaler", "out"})
TILES = frozenset({"tile0", "tile1", "tile_scaler", "tile_out"})
REGISTERS = frozenset({"dst", "dst0", "dst1", "dst2", "dst_out"})
NUMBERS = frozenset({"value", "low", "high"})


class Unit(Enum):
    """Who carries an operation out."""

    DATAFLOW = "the data movement cores"
    BUFFERS = "every core: circular buffers"
    REGISTERS = "the DST registers' owners"
    MATRIX = "the matrix engine"
    VECTOR = "the vector engine (SFPU)"
    PACKER = "the packer"


@dataclass(frozen=True)
class Operation:
    """One call of the kernel API.

    Parameters
    ----------
    name : as release 0.81.1 has it.
    parameters : what its arguments are, see the module.
    unit : who carries it out.
    init : the operation that prepares it, "" for none.
    templates : what its template arguments are.
    optional : how many of the last parameters may be left out.
    """

    name: str
    parameters: tuple[str, ...]
    unit: Unit
    init: str = ""
    templates: tuple[str, ...] = ()
    optional: int = 0

    @property
    def needs_vector_headers(self) -> bool:
        """Whether its code wants ``sfpi.h``, which only the vendor's compiler has."""
        return self.unit is Unit.VECTOR

    @property
    def is_init(self) -> bool:
        """Whether it computes nothing and prepares others."""
        return self.name.endswith("_init") or self.name == "compute_kernel_hw_startup"


def operation(name: str) -> Operation:
    """The operation of a name.

    Raises
    ------
    LoweringError : no operation is called so.
    """
    if name not in OPERATIONS:
        raise LoweringError(f"the kernel API for Tenstorrent has no operation {name}")
    return OPERATIONS[name]


def _data_movement() -> Iterator[Operation]:
    for name, parameters in (
        ("noc_async_read_tile", "tile tensor address"),
        ("noc_async_write_tile", "tile tensor address"),
        ("noc_async_read_barrier", ""),
        ("noc_async_write_barrier", ""),
        ("get_write_ptr", "out"),
        ("get_read_ptr", "in0"),
        ("get_tile_size", "in0"),
        ("get_noc_addr", "integer integer address"),
        ("noc_async_read", "noc_address address count"),
        ("noc_async_write", "address noc_address count"),
        ("get_semaphore", "integer"),
        ("noc_semaphore_set", "semaphore integer"),
        ("noc_semaphore_wait", "semaphore integer"),
        ("noc_semaphore_inc", "noc_address integer"),
        ("get_noc_multicast_addr", "integer integer integer integer address"),
        ("noc_async_write_multicast", "address noc_address count integer"),
        ("noc_semaphore_set_multicast", "address noc_address integer"),
    ):
        yield Operation(name, tuple(parameters.split()), Unit.DATAFLOW)


def _protocol() -> Iterator[Operation]:
    for name, buffer in (
        ("cb_reserve_back", "out"),
        ("cb_push_back", "out"),
        ("cb_wait_front", "in0"),
        ("cb_pop_front", "in0"),
    ):
        yield Operation(name, (buffer, "count"), Unit.BUFFERS)
    for name in ("acquire", "commit", "wait", "release"):
        yield Operation(f"tile_regs_{name}", (), Unit.REGISTERS)


_TWO_TILES = ("in0", "in1", "tile0", "tile1", "dst")


def _matrix() -> Iterator[Operation]:
    yield Operation("compute_kernel_hw_startup", ("in0", "in1", "out"), Unit.MATRIX, templates=("source_order",))
    yield Operation("matmul_init", ("in0", "in1", "integer"), Unit.MATRIX, optional=1)
    yield Operation("matmul_tiles", _TWO_TILES, Unit.MATRIX, "matmul_init")
    for verb in ("add", "sub", "mul"):
        yield Operation(f"{verb}_init", ("in0", "in1"), Unit.MATRIX)
        yield Operation(f"{verb}_tiles", _TWO_TILES, Unit.MATRIX, f"{verb}_init")
        for over in ("rows", "cols", "scalar"):
            init = f"{verb}_bcast_{over}_init"
            yield Operation(init, ("in0", "in1"), Unit.MATRIX)
            yield Operation(f"{verb}_tiles_bcast_{over}", _TWO_TILES, Unit.MATRIX, init)
        init = f"{verb}_reuse_dest_init"
        yield Operation(init, ("in0",), Unit.MATRIX, templates=("side",))
        yield Operation(f"{verb}_reuse_dest_tiles", ("in0", "tile0", "dst"), Unit.MATRIX, init, ("side",))
    yield Operation("copy_init", ("in0",), Unit.MATRIX)
    yield Operation("copy_tile", ("in0", "tile0", "dst"), Unit.MATRIX, "copy_init")
    yield Operation("unary_bcast_init", ("in0",), Unit.MATRIX, templates=("broadcast",))
    yield Operation("unary_bcast", ("in0", "tile0", "dst"), Unit.MATRIX, "unary_bcast_init", ("broadcast",))
    yield Operation("unary_bcast_uninit", ("in0",), Unit.MATRIX, templates=("broadcast",))
    yield Operation("transpose_init", ("in0",), Unit.MATRIX)
    yield Operation("transpose_tile", ("in0", "tile0", "dst"), Unit.MATRIX, "transpose_init")
    reduction = ("pool", "dimension")
    yield Operation("reduce_init", ("in0", "scaler", "out"), Unit.MATRIX, templates=reduction)
    parameters = ("in0", "scaler", "tile0", "tile_scaler", "dst")
    yield Operation("reduce_tile", parameters, Unit.MATRIX, "reduce_init", reduction)
    yield Operation("reduce_uninit", (), Unit.MATRIX)
    yield Operation("reconfig_data_format", ("in0", "in1"), Unit.MATRIX, templates=("source_order",))
    yield Operation("reconfig_data_format_srca", ("in0",), Unit.MATRIX)


def _packer() -> Iterator[Operation]:
    yield Operation("pack_tile", ("dst", "out", "tile_out"), Unit.PACKER, templates=("out_of_order",), optional=1)
    yield Operation("pack_reconfig_data_format", ("out",), Unit.PACKER)
    yield Operation("pack_reconfig_l1_acc", ("integer",), Unit.PACKER)
    yield Operation("pack_relu_config", ("relu",), Unit.PACKER)


# One operand, in place; those in the second line are prepared by rounding_op_tile_init.
UNARY = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "sqrt",
    "rsqrt",
    "recip",
    "abs",
    "sign",
    "square",
    "negative",
    "relu",
    "sigmoid",
    "tanh",
    "silu",
    "gelu",
    "erf",
    "erfc",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "identity",
    "gtz",
    "gez",
    "ltz",
    "lez",
    "eqz",
    "nez",
]
ROUNDING = ("floor", "ceil", "trunc", "frac")
UNARY_WITH_NUMBER = ["power", "leaky_relu", "relu_max", "relu_min", "unary_max", "unary_min"]
COMPARED_WITH_NUMBER = ["eq", "ne", "lt", "gt", "le", "ge"]
BINARY = ["add", "sub", "mul", "div", "rsub", "power", "eq", "ne", "lt", "gt", "le", "ge"]


def _vector() -> Iterator[Operation]:
    def pair(name: str, parameters: tuple[str, ...], *, init: str = "", templates: tuple[str, ...] = ()) -> Operation:
        return Operation(name, parameters, Unit.VECTOR, init or f"{name}_init", templates)

    single = [pair(f"{name}_tile", ("dst",)) for name in UNARY]
    single += [pair(f"{name}_tile", ("dst",), init="rounding_op_tile_init") for name in ROUNDING]
    single += [pair(f"{name}_tile", ("dst", "value")) for name in UNARY_WITH_NUMBER]
    single += [pair(f"unary_{name}_tile", ("dst", "value")) for name in COMPARED_WITH_NUMBER]
    scalar = "binop_with_scalar_tile_init"
    single += [
        pair(f"{verb}_unary_tile", ("dst", "value"), init=scalar) for verb in ["add", "sub", "mul", "div", "rsub"]
    ]
    single += [pair(f"{verb}_unary_tile_int32", ("dst", "integer"), init=scalar) for verb in ("add", "sub")]
    single += [pair(f"{name}_tile_int32", ("dst",), init=f"{name}_tile_init") for name in ("abs", "negative", "relu")]
    single += [pair("clamp_tile", ("dst", "low", "high")), pair("fill_tile", ("dst", "number"))]
    single += [pair("fill_tile_int", ("dst", "integer"), init="fill_tile_init", templates=("format",))]
    single += [pair("typecast_tile", ("dst",), templates=("from_format", "to_format"))]
    two = ("dst0", "dst1", "dst_out")
    several = [pair(f"{name}_binary_tile", two) for name in BINARY]
    several += [pair(f"binary_{name}_tile", two) for name in ("max", "min", "max_int32", "min_int32")]
    several += [pair(f"{verb}_int_tile", two, templates=("format",)) for verb in ("add", "sub", "mul")]
    several += [pair(f"{verb}_int_tile", two, templates=("format",)) for verb in ("lt", "gt", "le", "ge")]
    several += [pair("where_tile", ("dst0", "dst1", "dst2", "dst_out"), templates=("format",))]
    several += [pair("copy_dest_values", ("dst0", "dst_out"))]
    with_format = {"mul_int_tile_init", *(f"{verb}_int_tile_init" for verb in ("lt", "gt", "le", "ge"))}
    yield from single + several
    for init in sorted({each.init for each in single + several}):
        templates: tuple[str, ...] = ("format",) if init in with_format else ()
        if init == "typecast_tile_init":
            templates = ("from_format", "to_format")
        yield Operation(init, (), Unit.VECTOR, templates=templates)


OPERATIONS = {each.name: each for family in (_data_movement, _protocol, _matrix, _packer, _vector) for each in family()}
