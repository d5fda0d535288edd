"""cuTile regions under TRITON_INTERPRET=1, in a process of its own: Triton decides at import."""

import torch

import tle_raw
from tests.adapters.cutile import (
    test_arithmetic,
    test_atomics,
    test_control,
    test_memory,
    test_mma,
    test_reductions,
    test_shapes_and_casts,
    test_signatures,
    test_whole_kernels,
)
from tests.interpreting import run_chosen


def test_floats():
    for dtype in (torch.float16, torch.float32, torch.float64):
        test_arithmetic.test_arithmetic_of_floats(dtype)
        test_arithmetic.test_elementary_functions(dtype)
    test_arithmetic.test_functions_of_two_tiles(torch.float32)


def test_integers():
    for dtype in (torch.int8, torch.int32, torch.int64, torch.uint8, torch.uint32):
        test_arithmetic.test_arithmetic_of_integers(dtype)
        test_arithmetic.test_bits_and_shifts(dtype)
        test_arithmetic.test_comparisons(dtype)
    test_arithmetic.test_truth_values()


def test_tiles_of_arrays():
    test_memory.test_tiles_at_the_edges_of_an_array(torch.float32)
    test_memory.test_what_lies_outside_is_the_padding("NEG_INF", torch.float32)
    test_memory.test_order_turns_the_axes()
    test_memory.test_views_whose_tiles_overlap()
    test_memory.test_slices_of_arrays()
    test_memory.test_lists_of_arrays()


def test_gather_and_scatter():
    test_memory.test_gather_and_scatter_with_indices_outside()
    test_memory.test_advanced_indexing()
    test_memory.test_raw_memory()


def test_shapes_and_pieces():
    test_shapes_and_casts.test_shapes(torch.float32)
    test_shapes_and_casts.test_pieces_at_run_time_indices(1, 1)
    test_shapes_and_casts.test_bits_and_bytes()


def test_reductions_and_scans():
    test_reductions.test_reductions(torch.float32)
    test_reductions.test_scans(torch.float32)
    test_reductions.test_functions_of_the_user()


def test_jumps():
    for name in test_control.CASES:
        test_control.test_jumps(name)
    test_control.test_nested_loops_that_carry_tiles()
    test_control.test_closures_dataclasses_tuples_and_static_values()
    test_control.test_a_kernel_that_returns_early()


def test_products():
    test_mma.test_products(torch.float16, torch.float32, (16, 32, 64))
    test_mma.test_products(torch.int8, torch.int32, (16, 32, 64))


def test_atomics_of_all_kinds():
    test_atomics.test_atomics_of_integers("i4")
    test_atomics.test_compare_and_swap_with_indices_outside(torch.int32)
    test_atomics.test_additions_to_a_tile_of_an_array()


def test_arguments():
    test_signatures.test_one_memory_passed_twice()
    test_signatures.test_annotations_of_cutile()


def test_a_whole_kernel():
    a, b, c = torch.rand(40, 50), torch.rand(50, 30), torch.zeros(40, 30)
    tle_raw.fragment(test_whole_kernels.matmul).as_kernel()[2, 1](a, b, c, 32, 32, 16)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-5, atol=1e-4)


if __name__ == "__main__":
    run_chosen(globals())
