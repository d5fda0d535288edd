"""Mistakes to plant in generated files, and who finds each: the simulator, a compiler, the numbers, the plan's check.

A mistake replaces the first place of a text in a file. ``words`` is part of what is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Finder = Literal["simulator", "compiler", "numbers", "plan"]
PRODUCT, SUM = "matrix_product", "exponential_of_sum"


@dataclass(frozen=True)
class Mistake:
    """One mistake: in which program's file, what is replaced by what, and who finds it with which words."""

    name: str
    file: str
    right: str
    wrong: str
    finder: Finder
    words: str = ""
    program: str = PRODUCT


MISTAKES = (
    Mistake("the reader does not reserve", "reader.cpp", "cb_reserve_back(cb_in_A, 1);", "", "simulator", "reserve"),
    Mistake("the reader has no barrier", "reader.cpp", "noc_async_read_barrier();", "", "simulator", "barrier"),
    Mistake("the reader does not push", "reader.cpp", "cb_push_back(cb_in_A, 1);", "", "simulator", "deadlock"),
    Mistake("the reader pushes too much", "reader.cpp", "back(cb_in_B, 1)", "back(cb_in_B, 3)", "simulator", "3"),
    Mistake("a page outside of the tensor", "reader.cpp", "by * Kt + k", "by * Kt + k + 9", "simulator", "page"),
    Mistake("B is read by A's formula", "reader.cpp", "k * Nt + bx", "bx * Kt + k", "numbers"),
    Mistake("an argument that is not there", "reader.cpp", "uint32_t>(5)", "uint32_t>(6)", "simulator", "argument"),
    Mistake("an address of 8 bytes", "reader.cpp", "get_arg_val<uint32_t>(0)", "get_arg_val<uint64_t>(0)", "compiler"),
    Mistake(
        "an accessor without its words", "writer.cpp", "TensorAccessorArgs<0>", "TensorAccessorArgs<2>", "compiler"
    ),
    Mistake("no start of the hardware", "compute.cpp", "compute_kernel_hw_startup<", "(void)sizeof(", "compiler"),
    Mistake(
        "no init of the product", "compute.cpp", "matmul_init(cb_in_A, cb_in_B);", "", "simulator", "without its init"
    ),
    Mistake("the name of an older release", "compute.cpp", "matmul_init(", "mm_init_short(", "compiler"),
    Mistake("a sixth argument", "compute.cpp", "0, 0, 0)", "0, 0, 0, k > 0)", "compiler"),
    Mistake("compute does not wait for A", "compute.cpp", "cb_wait_front(cb_in_A, 1);", "", "simulator", "wait_front"),
    Mistake("compute does not pop A", "compute.cpp", "cb_pop_front(cb_in_A, 1);", "", "simulator", "deadlock"),
    Mistake("DST is not acquired", "compute.cpp", "tile_regs_acquire();", "", "simulator", "acquire"),
    Mistake("DST is not committed", "compute.cpp", "tile_regs_commit();", "", "simulator", "commit"),
    Mistake("the packer does not wait", "compute.cpp", "tile_regs_wait();", "", "simulator", "wait"),
    Mistake("DST is not released", "compute.cpp", "tile_regs_release();", "", "simulator", "release"),
    Mistake("a register that DST has not", "compute.cpp", "0, 0, 0)", "0, 0, 9)", "simulator", "9"),
    Mistake("the output is not reserved", "compute.cpp", "cb_reserve_back(cb_out_C, 1);", "", "simulator", "reserve"),
    Mistake("the output is not pushed", "compute.cpp", "cb_push_back(cb_out_C, 1);", "", "simulator", "reserved 1"),
    Mistake("the last step of K is left out", "compute.cpp", "k < Kt", "k + 1 < Kt", "simulator", "nobody waited for"),
    Mistake("A and B are exchanged", "compute.cpp", "tiles(cb_in_A, cb_in_B", "tiles(cb_in_B, cb_in_A", "numbers"),
    Mistake("the writer does not wait", "writer.cpp", "cb_wait_front(cb_out_C, 1);", "", "simulator", "wait_front"),
    Mistake("the writer has no barrier", "writer.cpp", "noc_async_write_barrier();", "", "simulator", "barrier"),
    Mistake("the writer always writes page 0", "writer.cpp", "write_tile(tile", "write_tile(0", "numbers"),
    Mistake("another circular buffer", "writer.cpp", "c_16", "c_17", "simulator", "17"),
    Mistake("an init of the vector engine", "compute.cpp", "exp_tile_init();", "", "simulator", "init call", SUM),
    Mistake("a register that holds nothing", "compute.cpp", "tile(0, 1, 0)", "tile(0, 2, 0)", "simulator", "2", SUM),
    Mistake("the wrong bits of a scalar", "compute.cpp", "0x3f000000u", "1", "numbers", program=SUM),
    Mistake(
        "arguments in another order",
        "main.cpp",
        "share.start_id, share.count",
        "share.count, share.start_id",
        "simulator",
        "deadlock",
    ),
    Mistake("a block is given away twice", "tt.plan.json", '"io": 0, "jo": 1', '"io": 0, "jo": 0', "plan", "once"),
    Mistake("a range beyond the grid", "tt.plan.json", '"extent": [2, 2]', '"extent": [3, 2]', "plan", "within 2 x 2"),
)
