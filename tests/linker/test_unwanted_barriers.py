"""Barriers between marks are removed, and no others."""

import pytest

from tle_raw.linker.llvm.unwanted_barriers import CLOSE, OPEN, OPEN_WIDE, without_unwanted

OLD = "  tail call void @llvm.nvvm.barrier0()"
NEW = "  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !7"
ASM = '  tail call void asm sideeffect "@$0 mbarrier.arrive.expect_tx...", "b,r"(i1 %p, i32 %a)'
ADD = "  %c = add i32 %a, %b"


def mark(comment):
    return f'  %9 = tail call i32 asm sideeffect "{comment}", "=r"() #3, !dbg !7'


def edited(*lines):
    text, found = without_unwanted("\n".join(lines))
    return text.splitlines(), found


@pytest.mark.parametrize("barrier", [OLD, NEW])
def test_the_barrier_before_an_operation_goes_with_the_marks(barrier):
    assert edited(ADD, mark(OPEN), ADD, barrier, ASM, mark(CLOSE), barrier) == ([ADD, ADD, ASM, barrier], 2)


@pytest.mark.parametrize(
    "between",
    [ASM, "  %v = load i32, ptr addrspace(3) %p", "  store i32 %a, ptr addrspace(3) %p", "  br label %3", "3:"],
)
def test_a_barrier_behind_the_operation_or_in_another_block_stays(between):
    assert edited(mark(OPEN), between, NEW, mark(CLOSE)) == ([between, NEW], 2)


def test_a_wide_mark_removes_barriers_on_both_sides_within_the_block():
    assert edited(mark(OPEN_WIDE), NEW, ASM, NEW, mark(CLOSE), NEW) == ([ASM, NEW], 2)
    assert edited(mark(OPEN_WIDE), "3:", NEW, mark(CLOSE)) == (["3:", NEW], 2)


@pytest.mark.parametrize("call", ["barrier.cta.sync.aligned.count(i32 2, i32 64)", "bar.warp.sync(i32 -1)"])
def test_a_barrier_of_a_partition_goes_too(call):
    own = f"  tail call void @llvm.nvvm.{call}"
    assert edited(mark(OPEN), own, ASM, mark(CLOSE)) == ([ASM], 2)


def test_a_barrier_of_all_partitions_stays():
    other = "  tail call void @llvm.nvvm.barrier.cta.sync.all(i32 1)"
    assert edited(mark(OPEN), other, ASM, mark(CLOSE)) == ([other, ASM], 2)
