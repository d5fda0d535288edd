"""Halves that are loaded side by side come out of branches as words, with the same values."""

import ctypes
import re

import pytest

from tests.linker.machine import run_function
from tle_raw.linker.llvm.words_of_halves import words_of_halves

KERNEL = """
define ptx_kernel void @f(ptr %p, ptr %o, i32 %n, i16 %odd) {
begin:
  %any = icmp sgt i32 %n, 0
  br i1 %any, label %load, label %meet

load:                                             ; preds = %begin
  %a = load i16, ptr %p, align 8, !dbg !0, !alias.scope !1
  %p.b = getelementptr inbounds nuw i8, ptr %p, i64 2, !dbg !0
  %b = load i16, ptr %p.b, align 2, !dbg !0, !alias.scope !1
  %p.c = getelementptr inbounds nuw i16, ptr %p, i64 2
  %c = load i16, ptr %p.c, align 4, !invariant.load !0
  %p.d = getelementptr inbounds nuw i8, ptr %p, i64 6
  %d = load i16, ptr %p.d, align 2
  br label %meet

meet:                                             ; preds = %load, %begin
  %x = phi i16 [ %a, %load ], [ %odd, %begin ], !dbg !0
  %y = phi i16 [ %b, %load ], [ 0, %begin ], !dbg !0
  %z = phi i16 [ 3, %begin ], [ %c, %load ]
  %w = phi i16 [ 4, %begin ], [ %d, %load ]
  %more = icmp sgt i32 %n, 1
  br i1 %more, label %again, label %end

again:                                            ; preds = %meet
  %p.2 = getelementptr inbounds nuw i8, ptr %p, i64 8
  %a.2 = load i16, ptr %p.2, align 8
  %p.3 = getelementptr inbounds nuw i8, ptr %p, i64 10
  %b.2 = load i16, ptr %p.3, align 2
  br label %end

end:                                              ; preds = %again, %meet
  %x.2 = phi i16 [ %a.2, %again ], [ %x, %meet ]
  %y.2 = phi i16 [ %b.2, %again ], [ %y, %meet ]
  store i16 %x.2, ptr %o
  %o.1 = getelementptr i16, ptr %o, i64 1
  store i16 %y.2, ptr %o.1
  %o.2 = getelementptr i16, ptr %o, i64 2
  store i16 %z, ptr %o.2
  %o.3 = getelementptr i16, ptr %o, i64 3
  store i16 %w, ptr %o.3
  ret void
}

!0 = !{}
!1 = !{}
"""


def results(text):
    text = re.sub(r", !(?:dbg|alias\.scope|invariant\.load) !\d|!\d = .*\n", "", text).replace("ptx_kernel ", "")
    half = ctypes.c_int16
    found = []
    with run_function(text, "f", None, *[ctypes.POINTER(half)] * 2, ctypes.c_int32, half) as call:
        for n in range(3):
            values, out = (half * 8)(*(i * 2654435761 % 30011 for i in range(8))), (half * 4)()
            call(values, out, n, 9)
            found.append(list(out))
    return found


@pytest.mark.parametrize("element", ["i16", "[2 x i8]"])  # the second as LLVM of Triton 3.9 spells it
def test_words_have_the_halves_values(element):
    words = words_of_halves(KERNEL.replace("nuw i16, ptr %p", f"nuw {element}, ptr %p"))
    assert words.count(" = phi <2 x i16> ") == 3 and " = phi i16 " not in words
    assert words.count("load <2 x i16>") == 3 and "load i16" not in words
    assert results(words) == results(KERNEL)


def test_what_both_loads_mean_the_word_means():
    words = words_of_halves(KERNEL)
    assert "load <2 x i16>, ptr %p, align 8, !dbg !0, !alias.scope !1\n" in words and "!invariant.load" not in words


def test_a_word_of_constants_and_one_that_is_put_together_before_the_branch():
    words = words_of_halves(KERNEL)
    assert "<i16 3, i16 4>, %begin ]" in words
    assert words.index("insertelement <2 x i16> poison, i16 %odd") < words.index("br i1 %any")


@pytest.mark.parametrize(
    "change",
    [
        ("%p.b = getelementptr inbounds nuw i8, ptr %p, i64 2", "%p.b = getelementptr inbounds nuw i8, ptr %p, i64 16"),
        ("%a = load i16, ptr %p, align 8", "%a = load i16, ptr %p, align 2"),  # a word's place
        ("%a = load i16", "%a = load volatile i16"),
        ("  %b = load", "  store i16 7, ptr %o\n  %b = load"),
        ("  %b = load", "  call void @others()\n  %b = load"),
        ("  %b = load", "  %flag = load atomic i16, ptr %o acquire, align 2\n  %b = load"),
        ("[ %odd, %begin ]", "[ %odd, %begin ], [ 1, %begin ]"),  # from two cases of a switch
        ("br i1 %any, label %load, label %meet", "switch i32 %n, label %load [\n    i32 0, label %meet\n  ]"),
        ("[ 0, %begin ]", "[ 0, %begin ], [ %odd, %third ]"),
    ],
)
def test_other_halves_stay(change):
    assert change[0] in KERNEL
    words = words_of_halves(KERNEL.replace(*change))
    assert "%x = phi i16" in words and "%y = phi i16" in words


def test_shared_memory_is_read_in_its_space():
    words = words_of_halves(re.sub(r"(load \w+, |8, |4, |i8, |i16, )ptr %p", r"\1ptr addrspace(3) %p", KERNEL))
    assert "load <2 x i16>, ptr addrspace(3) %p, align 8" in words


def test_a_half_is_in_one_word():
    """The second half of a word is the first half of no other one."""
    text = KERNEL.replace("ptr %p.b, align 2", "ptr %p.b, align 4")
    text = text.replace("  %p.2 =", "  br label %b.c\n\nb.c:\n  %p.2 =").replace("%again ]", "%b.c ]")
    text = text.replace("[ %a.2, %b.c ]", "[ %b, %b.c ]").replace("[ %b.2, %b.c ]", "[ %c, %b.c ]")
    text = text.replace("%more = icmp sgt i32 %n, 1\n  br i1 %more", "br i1 %any")
    text = _with_loads_first(text)
    assert results(words_of_halves(text)) == results(text)


def _with_loads_first(text):
    loads = text[text.index("  %a = load") : text.index("  br label %meet")]
    return text.replace(loads, "").replace("  %any = icmp", f"{loads}  %any = icmp", 1)


LOOP = """
define ptx_kernel void @f(ptr %p, ptr %o, i32 %n, i16 %k) {
entry:
  br label %head

head:                                             ; preds = %meet, %entry
  %i = phi i32 [ 0, %entry ], [ %i.1, %meet ]
  %y = phi i16 [ 7, %entry ], [ %y.1, %meet ]
  %x = phi i16 [ FIRST, %entry ], [ %x.1, %meet ]
  %odd = trunc i32 %i to i1
  br i1 %odd, label %load, label %meet

load:                                             ; preds = %head
  %j = and i32 %i, 2
  %q = getelementptr inbounds nuw i16, ptr %p, i32 %j
  %a = load i16, ptr %q, align 4
  %q.1 = getelementptr inbounds nuw i8, ptr %q, i64 2
  %b = load i16, ptr %q.1, align 2
  br label %meet

meet:                                             ; preds = %load, %head
  %x.1 = phi i16 [ %a, %load ], [ %x, %head ]
  %y.1 = phi i16 [ %b, %load ], [ %y, %head ]
  %i.1 = add i32 %i, 1
  %more = icmp sle i32 %i.1, %n
  br i1 %more, label %head, label %end

end:                                              ; preds = %meet
  store i16 %x, ptr %o
  %o.1 = getelementptr i16, ptr %o, i64 1
  store i16 %y.1, ptr %o.1
  %o.2 = getelementptr i16, ptr %o, i64 2
  store i16 %x.1, ptr %o.2
  %o.3 = getelementptr i16, ptr %o, i64 3
  store i16 %k, ptr %o.3
  ret void
}
"""


def test_a_loop_hands_words_on():
    text = LOOP.replace("FIRST", "3")
    words = words_of_halves(text)
    assert words.count(" = phi <2 x i16> ") == 2 and " = phi i16 " not in words
    assert "phi <2 x i16> [ <i16 3, i16 7>, %entry ]" in words and "insertelement" not in words
    assert results(words) == results(text)
    assert words_of_halves(words) == words


def test_words_that_were_divided_before_are_handed_on_too():
    text = LOOP.replace("FIRST", "3")
    words = words_of_halves(text)
    head = re.search(r"  \S+ = phi <2 x i16> \[ <i16 3.*\n", words)[0]
    divided = words.replace(
        head, "  %y = phi i16 [ 7, %entry ], [ %y.1, %meet ]\n  %x = phi i16 [ 3, %entry ], [ %x.1, %meet ]\n"
    )
    word = re.match(r"  (\S+) =", head)[1]
    divided = re.sub(rf"  %[xy] = extractelement <2 x i16> {re.escape(word)}, i64 [01]\n", "", divided)
    divided = divided.replace(f"[ {word}, %head ]", "[ zeroinitializer, %head ]")
    assert divided.count(" = phi i16 ") == 2 and words_of_halves(divided).count(" = phi i16 ") == 0
    assert results(words_of_halves(divided)) == results(divided)


def test_a_loop_that_gets_a_half_of_its_own_keeps_halves():
    text = LOOP.replace("FIRST", "%k")
    words = words_of_halves(text)
    assert results(words) == results(text) and words.count(" = phi i16 ") == 2
