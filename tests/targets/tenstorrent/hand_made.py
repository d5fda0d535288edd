"""Two programs in the final form, written by hand: a matrix product, and a sum that goes through the vector engine."""

from __future__ import annotations

from tle_raw.errors import SourceLocation
from tle_raw.targets.tenstorrent.formats import TILE_BYTES
from tle_raw.targets.tenstorrent.ir import (
    Accessor,
    Bits,
    Buffer,
    Call,
    CircularBuffer,
    CompileTimeArg,
    ComputeConfig,
    CoreWork,
    For,
    Int,
    Kernel,
    Let,
    Module,
    Op,
    Query,
    RuntimeArg,
    Tensor,
    Var,
    Word,
    WorkItem,
)

ONE = Int(1)
ZERO = Int(0)


def call(name: str, *arguments: object, template: tuple[object, ...] = (), line: int = 0) -> Call:
    location = SourceLocation("hand_made.py", line, 0, f"line {line}") if line else None
    return Call(name, arguments, template, location)  # type: ignore[arg-type]


def tiles(extent: int) -> int:
    return -(-extent // 32)


def tensor(name: str, rows: int, columns: int, dtype: str, data_format: str, direction: str = "in") -> Tensor:
    return Tensor(
        name, (rows, columns), dtype, data_format, 0, 1, tiles(rows), tiles(columns), direction  # type: ignore[arg-type]
    )  # fmt: skip


def queue(name: str, number: int, data_format: str, ends: tuple[str, str]) -> CircularBuffer:
    return CircularBuffer(name, number, data_format, TILE_BYTES[data_format], 2, 1, *ends)  # type: ignore[arg-type]


def shares(rows: int, columns: int, cores: tuple[int, int], **values: int) -> tuple[CoreWork, ...]:
    """Blocks of one tile, in rows, dealt out in pieces that differ by one at most."""
    blocks = [WorkItem(row, column) for row in range(rows) for column in range(columns)]
    count = cores[0] * cores[1]
    work = []
    for core in range(count):
        first, last = len(blocks) * core // count, len(blocks) * (core + 1) // count
        columns_of_table = {"start_id": first, "count": last - first, **values}
        work.append(CoreWork(core % cores[0], core // cores[0], columns_of_table, tuple(blocks[first:last])))
    return tuple(work)


def read(name: str, page: object) -> tuple[Call, ...]:
    buffer = Buffer(f"in_{name}")
    return (
        call("cb_reserve_back", buffer, ONE),
        call("noc_async_read_tile", page, Accessor(name), Query("get_write_ptr", (buffer,))),
        call("noc_async_read_barrier"),
        call("cb_push_back", buffer, ONE),
    )


def write(name: str, page: object) -> tuple[Call, ...]:
    buffer = Buffer(f"out_{name}")
    return (
        call("cb_wait_front", buffer, ONE),
        call("noc_async_write_tile", page, Accessor(name), Query("get_read_ptr", (buffer,))),
        call("noc_async_write_barrier"),
        call("cb_pop_front", buffer, ONE),
    )


def packed(name: str, register: int = 0) -> tuple[Call, ...]:
    buffer = Buffer(f"out_{name}")
    return (
        call("tile_regs_commit"),
        call("tile_regs_wait"),
        call("cb_reserve_back", buffer, ONE),
        call("pack_tile", Int(register), buffer),
        call("cb_push_back", buffer, ONE),
        call("tile_regs_release"),
    )


def my_tiles(*body: object) -> For:
    return For("tile", Var("start_id"), Op("+", Var("start_id"), Var("count")), body)


def arguments(*addresses: str, columns: tuple[str, ...]) -> tuple[RuntimeArg, ...]:
    return (
        *(RuntimeArg(f"{name}_address", "address", name) for name in addresses),
        *(RuntimeArg(name, "core", name) for name in columns),
    )


def matrix_product(rows: int = 70, inner: int = 96, columns: int = 64, cores: tuple[int, int] = (2, 2)) -> Module:
    """C = A @ B in bfloat16, one tile of C at a time."""
    bf16 = ("bfloat16", "Float16_b")
    a, b, c = Buffer("in_A"), Buffer("in_B"), Buffer("out_C")
    table = ("start_id", "count", "Kt", "Nt")
    row, column = Op("/", Var("tile"), Var("Nt")), Op("%", Var("tile"), Var("Nt"))
    reader = my_tiles(
        Let("by", row),
        Let("bx", column),
        For(
            "k",
            ZERO,
            Var("Kt"),
            (
                *read("A", Op("+", Op("*", Var("by"), Var("Kt")), Var("k"))),
                *read("B", Op("+", Op("*", Var("k"), Var("Nt")), Var("bx"))),
            ),
        ),
    )
    step = (
        call("cb_wait_front", a, ONE),
        call("cb_wait_front", b, ONE),
        call("matmul_tiles", a, b, ZERO, ZERO, ZERO, line=7),
        call("cb_pop_front", a, ONE),
        call("cb_pop_front", b, ONE),
    )
    compute = (
        call("compute_kernel_hw_startup", a, b, c, template=(Word("SrcOrder::Reverse"),)),
        call("matmul_init", a, b),
        my_tiles(call("tile_regs_acquire"), For("k", ZERO, Var("Kt"), step), *packed("C")),
    )
    return Module(
        "matrix_product",
        ("A", "B", "C"),
        {
            "A": tensor("A", rows, inner, *bf16),
            "B": tensor("B", inner, columns, *bf16),
            "C": tensor("C", rows, columns, *bf16, "out"),
        },
        grid=(tiles(columns), tiles(rows), 1),
        core_grid=cores,
        circular_buffers={
            "in_A": queue("in_A", 0, "Float16_b", ("reader", "compute")),
            "in_B": queue("in_B", 1, "Float16_b", ("reader", "compute")),
            "out_C": queue("out_C", 16, "Float16_b", ("compute", "writer")),
        },
        kernels={
            "reader": Kernel(
                "reader",
                (CompileTimeArg("A"), CompileTimeArg("B")),
                arguments("A", "B", columns=table),
                (reader,),
            ),
            "compute": Kernel("compute", (), arguments(columns=("start_id", "count", "Kt")), compute),
            "writer": Kernel(
                "writer",
                (CompileTimeArg("C"),),
                arguments("C", columns=("start_id", "count")),
                (my_tiles(*write("C", Var("tile"))),),
            ),
        },
        cores=shares(tiles(rows), tiles(columns), cores, Kt=tiles(inner), Nt=tiles(columns)),
        compute=ComputeConfig(fp32_dest_acc_en=True, dst_tiles=4),
    )


def exponential_of_sum(rows: int = 45, columns: int = 80, cores: tuple[int, int] = (3, 1)) -> Module:
    """C = exp(0.5 * (A + B)) in float32."""
    fp32 = ("float32", "Float32")
    a, b, c = Buffer("in_A"), Buffer("in_B"), Buffer("out_C")
    compute = (
        call("compute_kernel_hw_startup", a, b, c),
        my_tiles(
            call("cb_wait_front", a, ONE),
            call("cb_wait_front", b, ONE),
            call("tile_regs_acquire"),
            call("copy_init", a),
            call("copy_tile", a, ZERO, ZERO),
            call("copy_init", b),
            call("copy_tile", b, ZERO, ONE),
            call("add_binary_tile_init"),
            call("add_binary_tile", ZERO, ONE, ZERO, line=3),
            call("binop_with_scalar_tile_init"),
            call("mul_unary_tile", ZERO, Bits(0.5)),
            call("exp_tile_init"),
            call("exp_tile", ZERO),
            call("cb_pop_front", a, ONE),
            call("cb_pop_front", b, ONE),
            *packed("C"),
        ),
    )
    table = ("start_id", "count")
    return Module(
        "exponential_of_sum",
        ("A", "B", "C"),
        {name: tensor(name, rows, columns, *fp32, "out" if name == "C" else "in") for name in "ABC"},
        grid=(tiles(columns), tiles(rows), 1),
        core_grid=cores,
        circular_buffers={
            "in_A": queue("in_A", 0, "Float32", ("reader", "compute")),
            "in_B": queue("in_B", 1, "Float32", ("reader", "compute")),
            "out_C": queue("out_C", 16, "Float32", ("compute", "writer")),
        },
        kernels={
            "reader": Kernel(
                "reader",
                (CompileTimeArg("A"), CompileTimeArg("B")),
                arguments("A", "B", columns=table),
                (my_tiles(*read("A", Var("tile")), *read("B", Var("tile"))),),
            ),
            "compute": Kernel("compute", (), arguments(columns=table), compute),
            "writer": Kernel(
                "writer", (CompileTimeArg("C"),), arguments("C", columns=table), (my_tiles(*write("C", Var("tile"))),)
            ),
        },
        cores=shares(tiles(rows), tiles(columns), cores),
        compute=ComputeConfig(fp32_dest_acc_en=True, dst_tiles=4),
    )
