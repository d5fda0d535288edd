"""Which copies out of buffers read them where they lie, and what becomes of the loads."""

from __future__ import annotations

import pytest

from tle_raw.flir.nvidia.store_in_place import store_in_place

SHARED = "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 32}>"
BUFFER = "!ttg.memdesc<16x32xf32, #shared, #smem, mutable>"
TILE, PLAIN = "tensor<16x32xf32, #blocked>", "!tt.tensordesc<16x32xf32>"
LOADED = f'%x = "ttg.local_load"(%tile) {{tle.note = "out"}} : ({BUFFER}) -> {TILE} loc(#loc3)'
CONVERTED = f'%y = "ttg.convert_layout"(%x) : ({TILE}) -> {TILE}'
STORED = f'"tt.descriptor_store"(%o, %y, %i, %i) : ({PLAIN}, {TILE}, i32, i32) -> () loc(#loc4)'


def module(*operations: str, beside: str = "") -> str:
    inside = "\n  ".join(operations)
    return f"""#shared = {SHARED}
"builtin.module"() ({{
  %o, %i, %n = "test.given"() : () -> ({PLAIN}, i32, index)
  %tile = "ttg.local_alloc"() : () -> {BUFFER}
  {beside}
  {inside}
  "test.use"(%tile) : ({BUFFER}) -> ()
}}) : () -> ()"""


def loop(*operations: str) -> tuple[str, ...]:
    end = '"scf.yield"() : () -> ()'
    return '"scf.for"(%n, %n, %n) ({', "^bb0(%k: index):", *operations, end, "}) : (index, index, index) -> ()"


def names(text: str) -> list[str]:
    words = ("local_load", "convert_layout", "fence", "copy", "wait", "descriptor_store", "reduce")
    found = (line.split('"')[1] for line in text.splitlines() if '"(' in line)
    return [name.rpartition(".")[2] for name in found if any(word in name for word in words)]


IN_PLACE = ["fence_async_shared", "async_tma_copy_local_to_global", "async_tma_store_wait"]
THROUGH_REGISTERS = ["local_load", "convert_layout", "descriptor_store"]


def test_a_copy_takes_the_place_of_load_and_store():
    text, found = store_in_place(module(LOADED, CONVERTED, STORED), 90, read_only=True)
    assert found == 1 and names(text) == IN_PLACE
    laid_out = f"!tt.tensordesc<16x32xf32, {SHARED}>"
    copy = (
        f'"ttng.async_tma_copy_local_to_global"(%o, %i, %i, %tile) : ({laid_out}, i32, i32, {BUFFER}) -> () loc(#loc4)'
    )
    assert copy in text and PLAIN not in text
    assert '"ttng.async_tma_store_wait"() <{pendings = 0 : i32}>' in text


def test_what_is_combined_is_waited_for_until_it_is_read():
    combined = STORED.replace("store", "reduce").replace(") :", ") <{kind = 1 : i32}> :")
    text, found = store_in_place(module(*loop(LOADED, CONVERTED, combined)), 90, read_only=True)
    assert found == 1 and names(text) == [IN_PLACE[0], "async_tma_reduce", IN_PLACE[2]]
    assert "<{pendings = 0 : i32, read_only}>" in text and "<{kind = 1 : i32}>" in text
    assert "read_only" not in store_in_place(module(LOADED, CONVERTED, combined), 90, read_only=False)[0]


def test_two_stores_of_one_load_are_two_copies():
    text, found = store_in_place(module(LOADED, CONVERTED, STORED, STORED), 90, read_only=True)
    assert found == 2 and names(text) == IN_PLACE * 2


def test_a_load_that_somebody_else_needs_stays():
    used = f'"test.use"(%x) : ({TILE}) -> ()'
    text, found = store_in_place(module(LOADED, CONVERTED, STORED, used), 90, read_only=True)
    assert found == 1 and names(text) == ["local_load", *IN_PLACE] and "tle.note" not in text


def test_a_buffer_that_is_written_before_the_store_is_loaded():
    for between in (
        f'"ttg.local_store"(%z, %tile) : ({TILE}, {BUFFER}) -> ()',
        '"ttng.arrive_barrier"(%b) : (!ttg.memdesc<1xi64, #shared1, #smem, mutable>) -> ()',
        f'"tt.store"(%p, %z) : (tensor<16x32x!tt.ptr<f32>, #blocked>, {TILE}) -> ()',
    ):
        text, found = store_in_place(module(LOADED, between, CONVERTED, STORED), 90, read_only=True)
        assert found == 0 and names(text)[-3:] == THROUGH_REGISTERS and "tle.note" not in text
        assert PLAIN in text


def test_a_loop_keeps_the_tile_that_it_goes_on_beside():
    text, found = store_in_place(module(*loop(LOADED, CONVERTED, STORED)), 90, read_only=True)
    assert found == 0 and names(text) == THROUGH_REGISTERS


@pytest.mark.parametrize("rows, expected", [(27, THROUGH_REGISTERS), (28, IN_PLACE)])
def test_a_loop_without_memory_for_a_tile_reads_the_buffer(rows, expected):
    """Of 232,448 bytes 28 rows of 8 KiB leave 3,072: for the buffer's 2,048, and not for as many once more."""
    large = f"!ttg.memdesc<{rows}x1024xf64, #shared, #smem, mutable>"
    beside, used = f'%large = "ttg.local_alloc"() : () -> {large}', f'"test.use"(%large) : ({large}) -> ()'
    text, _ = store_in_place(module(*loop(LOADED, CONVERTED, STORED), used, beside=beside), 90, read_only=True)
    assert names(text) == expected
    text, _ = store_in_place(module(used, *loop(LOADED, CONVERTED, STORED), beside=beside), 90, read_only=True)
    assert names(text) == THROUGH_REGISTERS  # its memory is free by then


def test_without_notes_nothing_is_changed():
    before = module(LOADED.replace('{tle.note = "out"} ', ""), CONVERTED, STORED)
    assert store_in_place(before, 90, read_only=True) == (before, 0)
