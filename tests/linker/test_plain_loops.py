"""Variables of marked loops behind inline assembly: which ones, and that LLVM then leaves the loop as it is."""

import pytest

import tle_raw
from tle_raw.linker.llvm.plain_loops import plain_loops

LOOP = """\
define float @f(i64 %n, ptr %p) {
  br label %3

3:                                                ; preds = %9, %2
  %4 = phi i64 [ %10, %9 ], [ 0, %2 ], !dbg !4
  %sum = phi float [ %7, %9 ], [ 0.000000e+00, %2 ]
  %at = phi ptr [ %11, %9 ], [ %p, %2 ]
  %5 = phi i64 [ %4, %9 ], [ 7, %2 ]
  %6 = load float, ptr %at, align 4
  %7 = fadd float %sum, %6
  %8 = icmp eq i64 %5, 3
  br i1 %8, label %9, label %9

9:                                                ; preds = %3
  %10 = add i64 %4, 1, !dbg !5
  %11 = getelementptr float, ptr %at, i64 2
  store i64 0, ptr %11
  store i64 1, ptr %11
  store i64 2, ptr %11
  %12 = icmp ult i64 %10, %n
  br i1 %12, label %3, label %13, !llvm.loop !6

13:                                               ; preds = %9
  ret float %7
}
"""


def test_what_is_counted_and_what_is_added_before_the_end_is_kept():
    changed = set(plain_loops(LOOP).splitlines()) - set(LOOP.splitlines())
    assert changed == {
        '  %"tle.10" = add i64 %4, 1, !dbg !5',
        '  %10 = call i64 asm sideeffect "", "=l,0"(i64 %"tle.10") nounwind memory(none)',
        '  %"tle.7" = fadd float %sum, %6',
        '  %7 = call float asm sideeffect "", "=f,0"(float %"tle.7") nounwind memory(none)',
    }


@pytest.mark.parametrize(
    "other", [LOOP.replace(", !llvm.loop !6", ""), LOOP.replace("label %3, label %13", "label %13, label %13")]
)
def test_other_loops_and_branches_stay(other):
    assert plain_loops(other) == other


def test_short_loops_and_those_with_many_branches_count_as_llvm_likes():
    short = LOOP.replace("  store i64 2, ptr %11\n", "")
    branchy = LOOP.replace("9:  ", "".join(f"b{number}:\n  br label %9\n\n" for number in range(3)) + "9:  ")
    for text in (short, branchy):
        changed = set(plain_loops(text).splitlines()) - set(text.splitlines())
        assert len(changed) == 2 and all("float" in line or "fadd" in line for line in changed)


SUMS = """
__global__ void sums(const float* x, float* o, int n) {
  float sums[4] = {};
#pragma unroll 1
  for (int i = 0; i < n; i++) {
#pragma unroll
    for (int k = 0; k < 4; k++) sums[k] += x[4 * i + k];
    if (x[i] > 0) o[4 + i] = 1;
  }
  for (int k = 0; k < 4; k++) o[k] = sums[k];
}
"""


@pytest.mark.parametrize(("disabled", "added"), [("", 4), ("plain-loops", 0)])
def test_sums_are_added_where_they_are_written(disabled, added):
    with tle_raw.knobs.scope() as knobs:
        knobs.disable_passes = disabled
        text = tle_raw.fragment(SUMS, dialect="cuda", symbol="sums").as_kernel(block=32).compile("cuda:90").asm["ptx"]
    turn = text[text.index("Loop Header") :]
    assert turn[: turn.index("setp.")].count("add.f32") == added


@pytest.mark.parametrize(("axis", "found"), [("nctaid.y", True), ("ntid.x", False)])
def test_turns_a_grid_apart_count_as_written_although_they_multiply(axis, found):
    size = f"  %size = tail call i32 @llvm.nvvm.read.ptx.sreg.{axis}()\n  %wide = zext nneg i32 %size to i64\n"
    text = LOOP.replace("  br label %3\n", f"{size}  br label %3\n", 1).replace(
        "add i64 %4, 1", "add nuw i64 %4, %wide"
    )
    text = text.replace("  %8 = icmp", "  %product = mul i64 %4, %n\n  %8 = icmp")
    assert ('%10 = call i64 asm sideeffect "", "=l,0"' in plain_loops(text)) == found
