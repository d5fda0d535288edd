"""Loops with shuffles take two turns at once where all threads take as many, and give what they gave."""

import ctypes
import re

import pytest

from tests.linker.machine import run_function
from tle_raw.linker.llvm.unroll_warp_loops import unroll_warp_loops

SHUFFLE = "@llvm.nvvm.shfl.sync.bfly.i32"
# Two blocks, a value that rotates, one that is used outside, one that is not counted up by one.
KERNEL = """
define ptx_kernel void @f(ptr %p, ptr %o, i32 %n, i32 %step) {
  %1 = icmp sgt i32 %n, 0
  br i1 %1, label %.lr.ph, label %7

.lr.ph:                                           ; preds = %0
  %first = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  br label %2

2:                                                ; preds = %5, %.lr.ph
  %i = phi i32 [ 0, %.lr.ph ], [ %i.next, %5 ]
  %before = phi i32 [ 7, %.lr.ph ], [ %sum, %5 ]
  %sum = phi i32 [ %first, %.lr.ph ], [ %sum.next, %5 ]
  %3 = getelementptr i32, ptr %p, i32 %i
  %4 = load i32, ptr %3, align 4
  %odd = trunc i32 %4 to i1
  br i1 %odd, label %add, label %5

add:                                              ; preds = %2
  %more = mul i32 %4, 3
  br label %5

5:                                                ; preds = %add, %2
  %6 = phi i32 [ %more, %add ], [ %4, %2 ]
  %all = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %6, i32 1, i32 31)
  %both = add i32 %all, %before
  %sum.next = add i32 %sum, %both
  %i.next = add nsw i32 %i, %step
  %again = icmp slt i32 %i.next, %n
  br i1 %again, label %2, label %7, !llvm.loop !0

7:                                                ; preds = %5, %0
  %result = phi i32 [ -1, %0 ], [ %sum.next, %5 ]
  store i32 %result, ptr %o, align 4
  ret void
}

declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()

!0 = distinct !{!0}
"""


def on_this_machine(text):
    """The text with functions in place of what GPUs have."""
    text = re.sub(r"^declare .*\n", "", text, flags=re.MULTILINE).replace("ptx_kernel ", "")
    text = text.replace("@llvm.nvvm.read.ptx.sreg.ntid.x", "@size").replace(SHUFFLE, "@shuffle")
    return text + (
        "define i32 @size() {\n  ret i32 64\n}\n"
        "define i32 @shuffle(i32 %mask, i32 %value, i32 %lane, i32 %clamp) {\n"
        "  %r = xor i32 %value, 5\n  ret i32 %r\n}\n"
    )


def test_two_turns_give_what_one_after_the_other_gave():
    unrolled = unroll_warp_loops(KERNEL)
    assert unrolled.count(f"call i32 {SHUFFLE}(") == 3
    pointer, number = ctypes.POINTER(ctypes.c_int32), ctypes.c_int32
    values = (number * 32)(*((i * 2654435761) % 1009 for i in range(32)))
    found = []
    for text in (KERNEL, unrolled):
        with run_function(on_this_machine(text), "f", None, pointer, pointer, number, number) as call:
            for turns in range(14):
                for step in (1, 2, 3):
                    result = number()
                    call(values, ctypes.byref(result), turns, step)
                    found.append(result.value)
    assert found[: len(found) // 2] == found[len(found) // 2 :]
    assert len(set(found)) > 12


def test_no_question_stands_between_the_two_turns():
    unrolled = unroll_warp_loops(KERNEL)
    between = unrolled[unrolled.index('"2.tle.two":') : unrolled.index('"5.tle.2":')]
    assert "br i1 %again" not in between and between.count(SHUFFLE) == 1


@pytest.mark.parametrize(
    "change",
    [
        ("ptx_kernel ", ""),  # its parameters may differ from thread to thread
        ("sreg.ntid.x()\n  br", "sreg.ntid.x()\n  %step.own = call i32 @tid()\n  br"),
        ("slt i32 %i.next, %n", "slt i32 %i.next, %4"),  # what memory holds
        ("load i32, ptr %3", "load i32, ptr addrspace(3) %3"),  # nothing to wait for
        (SHUFFLE, "@one_threads_own"),
        ("  %both = ", "  call void @llvm.nvvm.barrier0()\n  %both = "),
        ("br i1 %odd, label %add, label %5", "br i1 %odd, label %add, label %7"),  # another way out
    ],
)
def test_other_loops_stay(change):
    assert change[0] in KERNEL
    text = KERNEL.replace(*change)
    if "@tid" in text:
        text = text.replace("i32 %i, %step", "i32 %i, %step.own")
    assert unroll_warp_loops(text) == text


def test_values_from_different_blocks_may_differ_from_thread_to_thread():
    text = KERNEL.replace("  br label %2\n", "  br i1 %1, label %2, label %other\n\nother:\n  br label %2\n", 1)
    same = re.sub(r"phi i32 \[ (\S+), %.lr.ph \]", r"phi i32 [ \1, %.lr.ph ], [ \1, %other ]", text)
    assert unroll_warp_loops(same) != same
    text = same.replace("[ 0, %other ]", "[ 5, %other ]")
    assert unroll_warp_loops(text) == text


def test_values_of_several_words_come_from_the_new_block():
    text = KERNEL.replace(
        "ret void", "%at = phi ptr [ null, %0 ], [ getelementptr inbounds (i8, ptr @t, i64 4), %5 ]\n  ret void"
    )
    assert '[ getelementptr inbounds (i8, ptr @t, i64 4), %"2.tle.out" ]' in unroll_warp_loops(text)


def test_what_does_not_alias_within_a_turn_may_alias_the_next_one():
    scope = "  call void @llvm.experimental.noalias.scope.decl(metadata !3)\n"
    text = KERNEL.replace("  %3 = getel", f"{scope}  %3 = getel").replace(
        "ptr %3, align 4", "ptr %3, align 4, !alias.scope !3"
    )
    unrolled = unroll_warp_loops(text)
    assert unrolled.count(" = load ") == 3 and unrolled.count("!alias.scope") == unrolled.count("scope.decl") == 1


def test_the_first_block_may_have_a_name():
    named = KERNEL.replace("i32 %step) {\n", "i32 %step) {\nbegin:\n").replace("%0 ]", "%begin ]")
    assert "{\nbegin:\n" in unroll_warp_loops(named) != named
