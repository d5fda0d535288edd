"""Buffers in scratch memory: which share a place, and how much there is of it."""

import pytest

pytest.importorskip("torch_mlir.ir")

from tle_raw.flir.cpu.lower_to_llvm import parse
from tle_raw.flir.cpu.place_buffers import SMALL_AREA, place_buffers

pytestmark = pytest.mark.one_triton

TILE = "memref<32x32xf32>"
BYTES = 32 * 32 * 4


def placed(body, buffers=("a", "b", "c"), kind=TILE):
    """The scratch bytes, and the offset of each view in the order of the buffers."""
    from torch_mlir import ir

    allocations = "\n".join(f"%{name} = memref.alloca() : {kind}" for name in buffers)
    text = f"""
    func.func @kernel(%x: f32, %scratch: !llvm.ptr {{llvm.noalias}}, %context: !llvm.ptr) {{
      {allocations}
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      {body}
      return
    }}
    """
    with ir.Context(), ir.Location.unknown():
        module = parse(text)
        size = place_buffers(module)
        module.operation.verify()
        entry = module.body.operations[0].regions[0].blocks[0]
        views = [op.operation for op in entry.operations if op.operation.name == "memref.view"]
        return size, [view.operands[1].owner.attributes["value"].value for view in views], str(module)


def fill(name):
    return f"linalg.fill ins(%x : f32) outs(%{name} : {TILE})"


def copy(source, target):
    return f"linalg.copy ins(%{source} : {TILE}) outs(%{target} : {TILE})"


def test_buffers_that_are_used_together_lie_apart():
    size, offsets, _ = placed("\n".join([fill("a"), copy("a", "b"), copy("b", "c"), copy("a", "c")]))
    assert (size, sorted(offsets)) == (3 * BYTES, [0, BYTES, 2 * BYTES])


def test_a_buffer_takes_the_place_of_one_that_is_not_used_any_more():
    size, offsets, _ = placed("\n".join([fill("a"), copy("a", "b"), copy("b", "c")]))
    assert size == 2 * BYTES
    assert offsets[0] == offsets[2] != offsets[1]


def test_a_buffer_that_a_loop_uses_lives_through_the_loop():
    loop = "scf.for %i = %c0 to %c4 step %c1 {\n" + "\n".join([copy("a", "b"), copy("c", "a")]) + "\n}"
    size, offsets, _ = placed("\n".join([fill("a"), fill("c"), loop]))
    assert (size, len(set(offsets))) == (3 * BYTES, 3)


def test_a_view_of_a_buffer_keeps_it_alive():
    body = f"""
      %flat = memref.collapse_shape %a [[0, 1]] : {TILE} into memref<1024xf32>
      {fill("b")}
      linalg.fill ins(%x : f32) outs(%flat : memref<1024xf32>)
    """
    size, offsets, _ = placed(body, ("a", "b"))
    assert (size, len(set(offsets))) == (2 * BYTES, 2)


def test_unused_buffers_vanish_and_small_ones_have_a_place_too():
    body = "linalg.fill ins(%x : f32) outs(%a : memref<4xf32>)"
    size, offsets, text = placed(body, ("a", "b"), "memref<4xf32>")
    assert (size, offsets) == (64, [0])
    assert "memref.alloca" not in text


def test_scratch_memory_is_the_argument_that_nothing_else_points_to():
    text = placed(fill("a"), ("a",))[2]
    assert "builtin.unrealized_conversion_cast" in text
    assert "llvm.load" not in text


def test_places_are_aligned():
    body = "\n".join(f"linalg.fill ins(%x : f32) outs(%{n} : memref<131xf32>)" for n in "abab")
    size, offsets, _ = placed(body, ("a", "b"), "memref<131xf32>")
    assert all(offset % 64 == 0 for offset in [size, *offsets])
    assert size == 2 * 576


def test_small_buffers_have_an_area_of_their_own_where_the_kernel_offers_one():
    from torch_mlir import ir

    text = """
    func.func @kernel(%small: !llvm.ptr {llvm.noalias}, %scratch: !llvm.ptr {llvm.noalias}, %context: !llvm.ptr) {
      %a = memref.alloca() : memref<64xf32>
      %b = memref.alloca() : memref<4096xf32>
      %zero = arith.constant 0 : index
      %one = arith.constant 1.0 : f32
      memref.store %one, %a[%zero] : memref<64xf32>
      memref.store %one, %b[%zero] : memref<4096xf32>
      return
    }
    """
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        assert place_buffers(module) == SMALL_AREA + 4 * 4096
        printed = str(module)
    assert f"memref<{SMALL_AREA}xi8>" in printed
    assert f"memref<{4 * 4096}xi8>" in printed


def test_functions_that_run_by_turns_have_areas_of_their_own():
    """Behind what the kernel needs, and behind them the stacks."""
    from torch_mlir import ir

    body = """{
      %a = memref.alloca() : memref<32x32xf32>
      %one = arith.constant 1.0 : f32
      linalg.fill ins(%one : f32) outs(%a : memref<32x32xf32>)
      return
    }"""
    arguments = "%x: i32, %scratch: !llvm.ptr {llvm.noalias}, %context: !llvm.ptr"
    text = f"""
    func.func private @"tle.area.first"() -> i64
    func.func private @"tle.area.second"() -> i64
    func.func private @"tle.area.stacks"() -> i64 attributes {{tle.bytes = 1000 : i64}}
    func.func @kernel({arguments}) {body}
    func.func @first({arguments}) {body}
    func.func @second({arguments}) {body}
    func.func @begin() -> (i64, i64, i64) {{
      %a = func.call @"tle.area.first"() : () -> i64
      %b = func.call @"tle.area.second"() : () -> i64
      %c = func.call @"tle.area.stacks"() : () -> i64
      return %a, %b, %c : i64, i64, i64
    }}
    """
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        module = parse(text)
        assert place_buffers(module) == 3 * BYTES + 1024
        module.operation.verify()
        *_, begin = module.body.operations
        returned = list(begin.regions[0].blocks[0].operations)[-1].operands
        assert [value.owner.attributes["value"].value for value in returned] == [BYTES, 2 * BYTES, 3 * BYTES]
