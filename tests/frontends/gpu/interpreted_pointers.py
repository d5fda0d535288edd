"""Pointers into buffers under TRITON_INTERPRET=1, run by test_interpreter in a process of their own."""

from __future__ import annotations

from tests.frontends.gpu.pointer_checks import ATOMICS, LOADED, Checks
from tests.frontends.gpu.pointer_kernels import LAYOUTS
from tests.interpreting import run_chosen

CHECKS = Checks()


def test_histograms():
    CHECKS.histogram(16, 1000)


def test_any_element_of_any_layout():
    for layout in LAYOUTS:
        CHECKS.any_element(layout, "f32", 64)


def test_every_dtype_under_masks():
    for dtype in LOADED:
        CHECKS.masks(dtype, 64)


def test_rows_that_come_in_runs():
    CHECKS.runs("f16")


def test_sums_of_all_beginnings():
    CHECKS.sums_of_beginnings("i32", 64)


def test_views():
    CHECKS.views("f32", 32, plain=True)


def test_pointers_are_passed_and_chosen():
    for n in (1, 3):
        CHECKS.passed(n)


def test_atomics():
    for kind, dtype in ATOMICS:
        if dtype not in ("bf16", "u64"):  # which the interpreter has no atomics of
            CHECKS.atomics(kind, dtype, 64, 16)
    CHECKS.exchanges("i32", 64, 16)
    CHECKS.swaps("i32", 64, 16)
    CHECKS.places(128, 16)
    CHECKS.scalar_atomics()


def test_equal_loads_with_a_store_between():
    for what in ("the buffer", "a pointer", "both"):
        CHECKS.written_between(what)


def test_freed_memory_and_reductions():
    CHECKS.freed(64)
    CHECKS.reductions(64)


if __name__ == "__main__":
    run_chosen(globals())
