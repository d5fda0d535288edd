"""What the hardware does not forgive is an error that names the kernel, the core and the line."""

from __future__ import annotations

import functools
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest

from tests.targets.tenstorrent.running import COPIED, EACH_TILE, PROGRAMS, run_tiles
from tle_raw.targets.tenstorrent.simulator import SimulationError, build_program, run_program

pytestmark = pytest.mark.one_triton

# In the GEMM: the file, a line or more of it (the first is meant), what stands there instead, and what is said.
MISTAKES = {
    "tile_regs_commit left out": ("compute.cpp", "tile_regs_commit();", "", "tile_regs_wait before tile_regs_commit"),
    "tile_regs_acquire left out": ("compute.cpp", "tile_regs_acquire();", "", "matmul_tiles without tile_regs_acquire"),
    "tile_regs_wait left out": ("compute.cpp", "tile_regs_wait();", "", "pack_tile before tile_regs_wait"),
    "tile_regs_release left out": (
        "compute.cpp",
        "tile_regs_release();",
        "",
        "the kernel ended with these destination registers held|tile_regs_wait twice",
    ),
    "tile_regs_acquire twice": (
        "compute.cpp",
        "tile_regs_acquire();",
        "tile_regs_acquire(); tile_regs_acquire();",
        "tile_regs_acquire again",
    ),
    "wait left out": (
        "compute.cpp",
        "cb_wait_front(cb_in0, 1);",
        "",
        r"matmul_tiles reads tile 0 of circular buffer 0; cb_wait_front waited for 0",
    ),
    "pop left out": (
        "compute.cpp",
        "cb_pop_front(cb_in0, 1);",
        "",
        r"deadlock[\s\S]*reader.cpp waits in cb_reserve_back\(0, 1\), where 0 of 2 pages are free; "
        "compute.cpp, which empties the buffer, waits too",
    ),
    "pop of too much": (
        "compute.cpp",
        "cb_pop_front(cb_in0, 1);",
        "cb_pop_front(cb_in0, 2);",
        r"cb_pop_front\(0, 2\): cb_wait_front waited for 1",
    ),
    "reserve of the output left out": (
        "compute.cpp",
        "cb_reserve_back(cb_out0, 1);",
        "",
        "pack_tile into page 0 of circular buffer 16; cb_reserve_back reserved 0",
    ),
    "push of the output left out": (
        "compute.cpp",
        "cb_push_back(cb_out0, 1);",
        "",
        r"pack_tile into page 1 of circular buffer 16|deadlock",
    ),
    "push of nothing": ("compute.cpp", "pack_tile(0, cb_out0);", "", "nothing was written to page 0"),
    "register 8": (
        "compute.cpp",
        "matmul_tiles(cb_in0, cb_in1, 0, 0, 0)",
        "matmul_tiles(cb_in0, cb_in1, 0, 0, 8)",
        r"destination register 8; there are 4 \(32 bits, half sync\)",
    ),
    "another register packed": (
        "compute.cpp",
        "pack_tile(0, cb_out0)",
        "pack_tile(1, cb_out0)",
        "nothing has written destination register 1",
    ),
    "init left out": ("compute.cpp", "matmul_init(cb_in0, cb_in1);", "", "matmul_tiles without its init call"),
    "init of another operation": (
        "compute.cpp",
        "matmul_init(cb_in0, cb_in1);",
        "copy_init(cb_in0);",
        "the last init call .line 9. set up copy_tile",
    ),
    "startup left out": (
        "compute.cpp",
        "compute_kernel_hw_startup<SrcOrder::Reverse>(cb_in0, cb_in1, cb_out0);",
        "",
        "matmul_init before compute_kernel_hw_startup",
    ),
    "startup in the loop": (
        "compute.cpp",
        "        tile_regs_acquire();",
        "        compute_kernel_hw_startup<SrcOrder::Reverse>(cb_in0, cb_in1, cb_out0); tile_regs_acquire();",
        "compute_kernel_hw_startup again",
    ),
    "a buffer that is not there": (
        "compute.cpp",
        "pack_tile(0, cb_out0)",
        "pack_tile(0, 17)",
        "made no circular buffer 17",
    ),
    "a wait for three of two pages": (
        "compute.cpp",
        "cb_wait_front(cb_in0, 1);",
        "cb_wait_front(cb_in0, 3);",
        "the buffer has 2 pages, so that this can never be",
    ),
    "read barrier left out": ("reader.cpp", "noc_async_read_barrier();", "", "noc_async_read_barrier is missing"),
    "push before the barrier": (
        "reader.cpp",
        "            noc_async_read_barrier();\n            cb_push_back(cb_in0, 1);",
        "            cb_push_back(cb_in0, 1);\n            noc_async_read_barrier();",
        r"cb_push_back\(0, 1\) while a read into these pages .line 18. is still in flight",
    ),
    "reserve of the input left out": (
        "reader.cpp",
        "cb_reserve_back(cb_in0, 1);",
        "",
        "cb_reserve_back is missing or too small",
    ),
    "a tile behind the tensor": (
        "reader.cpp",
        "by * Kt + k",
        "by * Kt + k + 12",
        r"page 12 is outside of the tensor, which has 12",
    ),
    "the wrong buffer filled": (
        "reader.cpp",
        "b, get_write_ptr(cb_in1)",
        "b, get_write_ptr(cb_in0)",
        r"cb_push_back\(1, 1\): nothing was written to page 0",
    ),
    "an address off by eight": (
        "reader.cpp",
        "get_write_ptr(cb_in0))",
        "get_write_ptr(cb_in0) + 8)",
        "both must lie alike within 32 bytes|touches pages",
    ),
    "an argument too many": (
        "reader.cpp",
        "get_arg_val<uint32_t>(5)",
        "get_arg_val<uint32_t>(6)",
        r"get_arg_val\(6\): the host program set 6 arguments",
    ),
    "the other tensor's address": (
        "reader.cpp",
        "b_address = get_arg_val<uint32_t>(1)",
        "b_address = get_arg_val<uint32_t>(2)",
        "no buffer in DRAM begins at address 0x0",
    ),
    "one product short": (
        "reader.cpp",
        "k < Kt; ++k",
        "k + 1 < Kt; ++k",
        r"compute.cpp waits in cb_wait_front\(0, 1\)[\s\S]*reader.cpp, which fills the buffer, has ended",
    ),
    "one product too many": ("reader.cpp", "k < Kt; ++k", "k <= Kt; ++k", "outside of the tensor|deadlock|ends with"),
    "write barrier left out": ("writer.cpp", "noc_async_write_barrier();", "", "noc_async_write_barrier is missing"),
    "the writer's wait left out": (
        "writer.cpp",
        "cb_wait_front(cb_out0, 1);",
        "",
        "cb_wait_front is missing or too small",
    ),
    "one tile not stored": (
        "writer.cpp",
        "tile < start_id + count",
        "tile + 1 < start_id + count",
        r"circular buffer 16 ends with 1 pages that nobody waited for .compute.cpp pushed 2, writer.cpp popped 1",
    ),
    "a sixth argument of matmul_tiles": (
        "compute.cpp",
        "matmul_tiles(cb_in0, cb_in1, 0, 0, 0)",
        "matmul_tiles(cb_in0, cb_in1, 0, 0, 0, k > 0)",
        "compute.cpp does not compile",
    ),
    "another release's init": (
        "compute.cpp",
        "matmul_init(cb_in0, cb_in1);",
        "mm_init(cb_in0, cb_in1, cb_out0);",
        "undeclared identifier",
    ),
    "a word of the accessor left out": (
        "reader.cpp",
        "a_args.next_compile_time_args_offset()",
        "1",
        "no accessor at this offset|does not compile",
    ),
    "an argument of eight bytes": (
        "reader.cpp",
        "get_arg_val<uint32_t>(4)",
        "get_arg_val<uint64_t>(4)",
        "a runtime argument has 4 bytes",
    ),
}


@functools.cache
def gemm() -> tuple[Path, list[Path]]:
    folder = Path(tempfile.mkdtemp())
    files = [folder / name for name in ("a.bin", "b.bin", "c.bin")]
    for file, elements in zip(files[:2], (80 * 112, 112 * 100)):
        np.random.default_rng(0).standard_normal(elements).astype(np.float16).tofile(file)
    return build_program(PROGRAMS / "gemm", folder / "main"), files


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_gemm_is_found(tmp_path, name):
    file, line, instead, message = MISTAKES[name]
    for kernel in ("reader.cpp", "compute.cpp", "writer.cpp"):
        source = (PROGRAMS / "gemm" / kernel).read_text()
        if kernel == file:
            assert line in source
            source = source.replace(line, instead)
        if "copy_init" in source:
            source = '#include "api/compute/tile_move_copy.h"\n' + source.replace(
                "// Each output tile is a sum of Kt products in destination register 0.\n", ""
            )
        (tmp_path / kernel).write_text(source)
    program, files = gemm()
    with pytest.raises(SimulationError) as failure:
        run_program(program, files, folder=tmp_path, seconds=20)
    assert re.search(message, str(failure.value))
    assert re.search(r"\w+\.cpp:\d+|circular buffer 16 ends", str(failure.value))


SUM = "PoolType::SUM, ReduceDim::REDUCE_ROW"
# In a kernel over tiles of bf16 in, bf16 out: how its body goes wrong.
BODIES = {
    "no init of the vector unit": (COPIED % "exp_tile(0);", "its init is missing"),
    "the init of another function": (COPIED % "exp_tile_init(); recip_tile(0);", "another operation's"),
    "a register that nothing wrote": (
        COPIED % "exp_tile_init(); exp_tile(1);",
        "reads destination register 1, which nothing has written",
    ),
    "the format of the packer": (
        COPIED.replace("(a, out)", "(a, a)").replace("%s", "pack_reconfig_data_format(2);"),
        "set up for Float32, circular buffer 16 holds Float16_b",
    ),
    "the format of a source": (
        COPIED.replace("%s", "reconfig_data_format_srca(2); copy_tile(a, 0, 1);"),
        "source A is set up for Float32, circular buffer 0 holds Float16_b",
    ),
    "integers for floats": (COPIED % "relu_tile_init(); relu_tile_int32(0);", "holds floats"),
    "a product into a product": (
        EACH_TILE % "mul_init(a, b); mul_tiles(a, b, 0, 0, 0); mul_tiles(a, b, 0, 0, 0);",
        "products are added to it",
    ),
    "the init of add for sub": (
        EACH_TILE % "add_init(a, b); sub_tiles(a, b, 0, 0, 0);",
        "set up an elementwise operation of another kind",
    ),
    "a broadcast without its init": (
        EACH_TILE % "mul_init(a, b); mul_tiles_bcast_cols(a, b, 0, 0, 0);",
        "of another kind",
    ),
    "a reduction of another kind": (
        EACH_TILE % f"reduce_init<PoolType::MAX, ReduceDim::REDUCE_ROW>(a, b, out); reduce_tile<{SUM}>(a, b, 0, 0, 0);",
        "set up something else",
    ),
    "reduce_uninit left out": (
        EACH_TILE % f"reduce_init<{SUM}>(a, b, out); add_init(a, b); add_tiles(a, b, 0, 0, 0);",
        "reduce_uninit is missing",
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_mistake_in_a_compute_kernel_is_found(tmp_path, name):
    body, message = BODIES[name]
    x = np.ones((32, 32))
    inputs = [(x, "bfloat16")] * (2 if "(b, 1)" in body else 1)
    with pytest.raises(SimulationError, match=message) as failure:
        run_tiles(tmp_path, body, inputs, ((32, 32), "bfloat16"), "cb=2:0:1")
    assert "core (0,0) compute.cpp" in str(failure.value)


def test_a_program_larger_than_l1_is_shown_on_a_map(tmp_path):
    with pytest.raises(SimulationError) as failure:
        run_tiles(tmp_path, COPIED % "", [(np.ones((32, 32)), "float32")], ((32, 32), "float32"), "cb=2:0:400")
    taken = r"has 1499136 bytes, the program wants more:[\s\S]*1638400 bytes  circular buffer 2[\s\S]*at main.cpp:\d+"
    assert re.search(taken, str(failure.value))


def test_a_lap_that_does_not_divide(tmp_path):
    body = "compute_kernel_hw_startup(a, out);" + 2 * " cb_wait_front(a, 2); cb_pop_front(a, 2);"
    with pytest.raises(SimulationError, match="from page 2 of 3 this steps over the end of the buffer"):
        run_tiles(tmp_path, body, [(np.ones((32, 128)), "float16")], ((32, 32), "float16"), in_pages=3)
