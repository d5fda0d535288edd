"""Structs that are read from a kernel's parameters: what is changed, and what is left alone."""

import pytest

from tle_raw.linker.llvm.launched_structs import launched_structs

STRUCT = """
%S = type { i32, [2 x ptr], i64 }
define ptx_kernel void @k(ptr addrspace(1) %0, i32 %1, ptr addrspace(1) %2, ptr addrspace(1) %3, i64 %4, i32 %5) #0 {
  %s = alloca %S, align 8
  %p2 = addrspacecast ptr addrspace(1) %2 to ptr, !dbg !1
  %p3 = addrspacecast ptr addrspace(1) %3 to ptr
  call void @llvm.lifetime.start.p0(ptr nonnull %s)
  store i32 %1, ptr %s, align 8
  %a8 = getelementptr inbounds nuw i8, ptr %s, i64 8
  store ptr %p2, ptr %a8, align 8
  %a16 = getelementptr inbounds nuw i8, ptr %s, i64 16
  store ptr %p3, ptr %a16, align 8
  %a24 = getelementptr inbounds nuw i8, ptr %s, i64 24
  store i64 %4, ptr %a24, align 8
  %i = sext i32 %5 to i64
  %at = getelementptr inbounds nuw ptr, ptr %a8, i64 %i
  %x = load ptr, ptr %at, align 8, !tbaa !2, !dbg !1
  %n = load i64, ptr %a24, align 8
  store i64 %n, ptr %x, align 8
  call void @llvm.lifetime.end.p0(ptr nonnull %s)
  ret void
}
"""


def test_loads_are_of_the_parameters():
    text = launched_structs(STRUCT)
    assert '%s = call ptr addrspace(101) asm "mov.b64 $0, k_param_1;", "=l"()' in text
    assert "getelementptr inbounds nuw ptr, ptr addrspace(101) %a8, i64 %i" in text
    assert '%"x.tle.global" = load ptr addrspace(1), ptr addrspace(101) %at, align 8, !dbg !1' in text
    assert '%x = addrspacecast ptr addrspace(1) %"x.tle.global" to ptr, !dbg !1' in text
    assert "%n = load i64, ptr addrspace(101) %a24, align 8" in text
    assert "alloca" not in text and "lifetime" not in text and text.count("  store ") == 1
    assert launched_structs(text) == text


def test_an_array_whose_first_field_nothing_writes_begins_before_the_parameter():
    text = launched_structs(STRUCT.replace("  store i32 %1, ptr %s, align 8\n", ""))
    assert '%"s.tle.first" = call ptr addrspace(101) asm "mov.b64 $0, k_param_2;", "=l"()' in text
    assert '%s = getelementptr i8, ptr addrspace(101) %"s.tle.first", i64 -8' in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ptx_kernel ", ""),  # no kernel
        ("@k(", "@k.1("),  # PTX has it under another name
        ("i32 %1, ptr", "i32 %1, i32 %1, ptr"),  # the fields lie closer together
        ("ptr addrspace(1) %0, i32 %1", "ptr addrspace(1) %0, ptr byval(%S) align 8 %9, i32 %1"),  # nobody says where
        ("store i32 %1,", "store i32 7,"),  # no parameter
        ("store ptr %p3", "store ptr %p2"),  # another one
        ("store i64 %4", "store i64 %i"),
        ("  %n =", "  store i64 %4, ptr %at, align 8\n  %n ="),  # written later, somewhere
        ("  %n =", "  store i64 %4, ptr %a24, align 8\n  %n ="),  # twice
        ("  %n =", "  call void @g(ptr %s)\n  %n ="),  # by others, perhaps
        ("  store i64 %n, ptr %x", "  store ptr %s, ptr %x"),
        ("%n = load i64", "%n = load volatile i64"),
        ("store i32 %1, ptr %s", "store i32 %1, ptr %at"),  # blocks are in any order
    ],
)
def test_what_may_not_be_read_there_is_left_alone(old, new):
    text = STRUCT.replace(old, new)
    assert text != STRUCT and launched_structs(text) == text


def test_addresses_in_loops_and_those_that_are_chosen_are_the_parameters():
    walked = """
  br label %loop
loop:
  %w = phi ptr [ %a8, %0 ], [ %on, %loop ]
  %c = select i1 %b, ptr %w, ptr %a16, !prof !3
  %on = getelementptr inbounds nuw i8, ptr %w, i64 8
  %b = icmp ult ptr %on, %a24, !dbg !1
"""
    text = STRUCT.replace("  %at = getelementptr inbounds nuw ptr, ptr %a8, i64 %i\n", walked).replace("%at", "%c")
    changed = launched_structs(text)
    assert "%w = phi ptr addrspace(101) [ %a8, %0 ], [ %on, %loop ]" in changed
    assert "%c = select i1 %b, ptr addrspace(101) %w, ptr addrspace(101) %a16, !prof !3" in changed
    assert '%"x.tle.global" = load ptr addrspace(1), ptr addrspace(101) %c' in changed
    assert "%b = icmp ult ptr addrspace(101) %on, %a24, !dbg !1" in changed
    for old, new in (
        ("[ %a8, %0 ]", "[ null, %0 ]"),
        ("ptr %w, ptr %a16", "ptr %w, ptr %x"),
        ("ult ptr %on", "ult ptr %x"),
    ):
        assert launched_structs(text.replace(old, new)) == text.replace(old, new)
    written = text.replace("%n =", "store i64 %4, ptr %on\n  %n =")
    assert launched_structs(written) == written


def test_other_pointers_than_global_ones_stay_generic():
    text = STRUCT.replace("ptr addrspace(1) %3", "ptr %3").replace(
        "addrspacecast ptr addrspace(1) %3 to ptr", "load ptr, ptr null"
    )
    text = launched_structs(text.replace("store ptr %p3", "store ptr %3"))
    assert "%x = load ptr, ptr addrspace(101) %at, align 8, !dbg !1" in text
