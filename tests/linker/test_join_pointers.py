"""Pointers that a long loop moves by the same constant are sums of where they began and one offset."""

import ctypes
import re

import pytest

from tests.linker.machine import run_function
from tle_raw.linker.llvm.join_pointers import join_pointers

WORK = "".join(f"  %v{n + 1} = add i32 %v{n}, {n * n}\n" for n in range(300))
LATCH = "br i1 %more, label %loop, label %end, !llvm.loop !0"
SWITCH = "switch i1 %more, label %end [\n    i1 true, label %loop\n  ], !llvm.loop !0"
KERNEL = f"""
define ptx_kernel void @f(ptr %p, ptr %q, ptr %o, i32 %n) {{
begin:
  br label %loop

loop:                                             ; preds = %loop.end, %begin
  %i = phi i32 [ %n, %begin ], [ %i.next, %loop.end ]
  %a = phi ptr [ %p, %begin ], [ %a.next, %loop.end ]
  %b = phi ptr [ %b.next, %loop.end ], [ %q, %begin ], !dbg !1
  %c = phi ptr [ %o, %begin ], [ %c.next, %loop.end ]
  %x = load i32, ptr %a
  %y = load i32, ptr %b
  %v0 = mul i32 %x, %y
{WORK}  %some = icmp sgt i32 %v300, 5
  br i1 %some, label %write, label %loop.end

write:                                            ; preds = %loop
  store i32 %v300, ptr %c
  br label %loop.end

loop.end:                                         ; preds = %write, %loop
  %a.next = getelementptr inbounds nuw i8, ptr %a, i64 8, !dbg !1
  %b.next = getelementptr inbounds nuw i8, ptr %b, i64 8
  %c.next = getelementptr inbounds nuw i8, ptr %c, i64 8
  %i.next = add nsw i32 %i, -1
  %more = icmp sgt i32 %i, 1
  br i1 %more, label %loop, label %end, !llvm.loop !0

end:                                              ; preds = %loop.end
  ret void
}}

!0 = distinct !{{!0}}
!1 = !{{}}
"""


def results(text):
    text = re.sub(r"= call i64 asm [^(]*\(i64 (\S+)\).*", r"= add i64 \1, 0", text)
    text = text.replace("ptx_kernel ", "").replace(", !dbg !1", "")
    number = ctypes.c_int32
    with run_function(text, "f", None, *[ctypes.POINTER(number)] * 3, number) as call:
        p, q, o = ((number * 20)(*(i * step % 17 for i in range(20))) for step in (3, 5, 7))
        call(p, q, o, 10)
        return list(o)


def test_three_pointers_are_one_offset():
    joined = join_pointers(KERNEL)
    assert "phi ptr" not in joined and joined.count("phi i64") == 1
    assert '%b = getelementptr i8, ptr %q, i64 %"a.tle.moved"\n' in joined
    assert results(joined) == results(KERNEL)


@pytest.mark.parametrize(
    "change",
    [
        ("%c, i64 8", "%c, i64 4"),  # two go together
        (", !llvm.loop !0", ""),  # Triton's own
        (WORK, "  %v300 = add i32 %v0, 1\n"),  # a short turn
        (LATCH, SWITCH),
        ("%c.next = getelementptr inbounds nuw i8, ptr %c, i64 8", "%c.next = load ptr, ptr %c"),
        ("[ %o, %begin ], [ %c.next, %loop.end ]", "[ %c.next, %loop.end ], [ %o, %begin ], [ %p, %third ]"),
    ],
)
def test_other_pointers_stay(change):
    assert change[0] in KERNEL
    text = KERNEL.replace(*change)
    assert join_pointers(text) == text
