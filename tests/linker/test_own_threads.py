"""A fragment's code for a part of a block's threads: their numbers, barriers and variables; and what is refused."""

import re

import pytest

from tle_raw.errors import RegionError
from tle_raw.linker.llvm.own_threads import OwnThreads, check_partition, depends_on_threads, for_partition
from tle_raw.linker.llvm.text import read_module

OWN = OwnThreads(first=192, count=64, barrier=3, numbers={1: 15, 2: 14})
# Calls and what becomes of them.
CALLS = {
    "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)":
        "call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 3, i32 64)",
    "call void @llvm.nvvm.barrier.cta.sync.all(i32 0)": "call void @llvm.nvvm.barrier.cta.sync.count(i32 3, i32 64)",
    "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 1)":
        "call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 15, i32 64)",
    "tail call void @llvm.nvvm.barrier0() #4": "call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 3, i32 64)",
    "call void @llvm.nvvm.barrier.sync(i32 2)": "call void @llvm.nvvm.barrier.cta.sync.count(i32 14, i32 64)",
    "call void @llvm.nvvm.barrier.sync.cnt(i32 2, i32 32)":
        "call void @llvm.nvvm.barrier.cta.sync.count(i32 14, i32 32)",
    "call void @llvm.nvvm.bar.sync(i32 0)": "call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 3, i32 64)",
    "call void @llvm.nvvm.barrier(i32 1, i32 %n)":
        "call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 15, i32 %n)",
    "call void @llvm.nvvm.barrier.n(i32 1)": "call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 15, i32 64)",
    "call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 1, i32 64)":
        "call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 15, i32 64)",
    'call void asm sideeffect "bar.sync 0;", "~{memory}"() #3':
        'call void asm sideeffect "bar.sync 3, 64;", "~{memory}"() #3',
    'call void asm sideeffect "bar.sync $0, $1;\\0A\\09bar.arrive 2, 64;", "n,r"(i32 1, i32 %n)':
        'call void asm sideeffect "bar.sync 15, $1;\\0A\\09bar.arrive 14, 64;", "n,r"(i32 1, i32 %n)',
    '%r = call i32 asm sideeffect "bar.red.popc.u32 $0, 1, $1;", "=r,b"(i1 %p)':
        '%r = call i32 asm sideeffect "bar.red.popc.u32 $0, 15, 64, $1;", "=r,b"(i1 %p)',
    "call void @llvm.nvvm.bar.warp.sync(i32 -1)": "call void @llvm.nvvm.bar.warp.sync(i32 -1)",
}  # fmt: skip


def module(body, more=""):
    return read_module(f"{more}define void @f(i32 %n, i1 %p) {{\n  {body}\n  ret void\n}}\n")


def own(text, entry="f", name="g", threads=OWN):
    return for_partition(read_module(text), entry, name, threads).text


def body_of(text):
    return re.search(r"define [^\n]*@g\(.*?\{\n(.*?)\n  ret", text, re.DOTALL)[1].strip()


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    made = for_partition(module(call), "f", "g", OWN)
    assert body_of(made.text) == CALLS[call]
    assert made == read_module(made.text)


def test_the_same_barrier_on_many_lines():
    barrier = 'call void asm sideeffect "bar.sync 1;", ""() #3'
    lines = [f"  tail {barrier}, !dbg !{number}\n  %x{number} = add i32 %n, {number}" for number in range(5)]
    made = for_partition(module("\n".join(lines).lstrip()), "f", "g", OWN)
    assert body_of(made.text).count('tail call void asm sideeffect "bar.sync 15, 64;", ""() #3, !dbg !') == 5
    assert made == read_module(made.text)


@pytest.mark.parametrize(
    "call, assembly",
    [
        ("%r = call i32 @llvm.nvvm.barrier0.popc(i32 %n)", "bar.red.popc.u32 $0, 3, 64, taken;"),
        ("%r = call i32 @llvm.nvvm.barrier0.and(i32 %n)", "bar.red.and.pred all, 3, 64, taken;"),
        ("%r = call i1 @llvm.nvvm.barrier.cta.red.or.aligned.all(i32 0, i1 %p)", "bar.red.or.pred all, 3, 64, taken;"),
        ("%r = call i32 @llvm.nvvm.barrier.cta.red.popc.aligned.count(i32 2, i32 32, i1 %p)",
         "bar.red.popc.u32 $0, 14, 32, taken;"),
        ("call i1 @llvm.nvvm.barrier.cta.red.and.all(i32 1, i1 %p)", "barrier.red.and.pred all, 15, 64, taken;"),
    ],
)  # fmt: skip
def test_reductions(call, assembly):
    body = body_of(for_partition(module(call), "f", "g", OWN).text)
    assert assembly in body and body.count("asm sideeffect") == 1 and " convergent" in body
    assert ("icmp ne i32 %tle.barrier.0.given, 0" in body) == ("%r = call i1" in call)
    assert ("zext i1 %p to i32" in body) == ("i1 %p" in call)


def test_barriers_of_functions_that_the_entry_does_not_reach_are_left_alone():
    other = "define void @other() {\n  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 7)\n  ret void\n}\n"
    made = for_partition(module("call void @llvm.nvvm.barrier0()", other), "f", "g", OWN).text
    assert "aligned.count(i32 3, i32 64)" in made and "aligned.all(i32 7)" in made


REGISTERS = """declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.warpid()
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
define i32 @f() {
  %a = tail call range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !range !0
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %d = call i32 @llvm.nvvm.read.ptx.sreg.warpid()
  %e = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  ret i32 %a
}
!0 = !{i32 0, i32 1024}
"""


def test_registers():
    made = own(REGISTERS)
    assert "%a = tail call range(i32 0, 1024) i32 @tle.tid$g(), !range !0" in made
    assert "%b = call i32 @tle.ntid$g()" in made and "%d = call i32 @tle.warpid$g()" in made
    assert "sreg.tid.y()" in made and "sreg.laneid()" in made
    assert "%own = sub nuw nsw i32 %all, 192" in made and "ret i32 64" in made and "lshr i32 %own, 5" in made
    assert made.count("call i32 @llvm.nvvm.read.ptx.sreg.tid.x()") == 2, "in its own functions alone"


def test_registers_in_assembly():
    body = body_of(own('define void @f() {\n  %t = call i32 asm "mov.u32 $0, %tid.x;", "=r"()\n  ret void\n}\n'))
    assert "mov.u32 tle_tid, %tid.x;\\0Asub.u32 tle_tid, tle_tid, 192;" in body
    assert "mov.u32 $0, tle_tid;" in body and body.count("%tid.x") == 1 and "mov.b32 tle_ntid, 64;" in body


NAMES = """@shared$f = internal addrspace(3) global [4 x i8] undef
@counter$f = internal addrspace(1) global i32 0
@set$f = addrspace(4) externally_initialized global i32 7
@table$f = internal unnamed_addr constant [2 x i8] c"a\\00"
define internal void @helper$f() alwaysinline {
  store i8 0, ptr addrspace(3) @shared$f
  store i32 1, ptr addrspace(1) @counter$f
  %v = load i8, ptr @table$f
  %w = load i32, ptr addrspace(4) @set$f
  ret void
}
define void @f() alwaysinline {
  call void @helper$f()
  ret void
}
"""


def test_what_is_shared_memory_is_its_own_and_other_variables_are_one():
    made = own(NAMES)
    assert "@shared$g = internal addrspace(3)" in made and "@helper$g()" in made and "@table$g = internal" in made
    assert "@counter$f = linkonce_odr addrspace(1) global" in made and "addrspace(1) @counter$f" in made
    assert "@set$f = addrspace(4) externally_initialized" in made and "define void @g()" in made
    assert "@f(" not in made and "@shared$f" not in made


def test_variables_in_operands_of_assembly_are_its_own():
    operands = "i32 ptrtoint (ptr addrspace(3) @shared$f to i32)"
    call = f'call void asm sideeffect "bar.sync 0; st.shared.b32 [$0], 1;", "r"({operands})'
    made = for_partition(module(call, NAMES.split("define")[0]), "f", "g", OWN).text
    assert '"bar.sync 3, 64; st.shared.b32 [$0], 1;"' in made and "@shared$f" not in made
    plain = call.replace("bar.sync 0; ", "")
    assert "@shared$f" not in for_partition(module(plain, NAMES.split("define")[0]), "f", "g", OWN).text


@pytest.mark.parametrize(
    "text, depends",
    [
        (REGISTERS, True),
        (NAMES, True),
        ("define i32 @f(i32 %x) {\n  ret i32 %x\n}\n", False),
        ('define void @f() {\n  call void asm sideeffect "bar.sync 0;", ""()\n  ret void\n}\n', True),
        ('define void @f() {\n  call void asm sideeffect "nanosleep.u32 9;", ""()\n  ret void\n}\n', False),
        ("define void @f() {\n  call void @llvm.nvvm.barrier0()\n  ret void\n}\n", True),
    ],
)  # fmt: skip
def test_what_depends_on_the_threads(text, depends):
    assert depends_on_threads(read_module(text)) is depends


@pytest.mark.parametrize(
    "body, message",
    [
        ('call void asm sideeffect "setmaxnreg.inc.sync.aligned.u32 96;", ""()', "hands registers"),
        ("call void @llvm.nvvm.setmaxnreg.inc.sync.aligned.u32(i32 96)", "hands registers"),
        ("call void @llvm.nvvm.barrier.cluster.arrive()", "threads of a cluster"),
        ('%a = call i32 asm "mov.u32 $0, %reserved_smem_offset_1;", "=r"()', "cooperative groups"),
        ("call void @llvm.nvvm.barrier.cta.sync.all(i32 %n)", "at run time"),
        ('call void asm sideeffect "bar.sync $0;", "r"(i32 %n)', "at run time"),
        ("call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 160)", "more threads"),
        ('call void asm sideeffect "wgmma.fence.sync.aligned;", ""()', "wgmma"),
    ],
)
def test_refused(body, message):
    declared = "declare void @llvm.nvvm.barrier.cluster.arrive()\n"
    declared += "declare void @llvm.nvvm.setmaxnreg.inc.sync.aligned.u32(i32)\n"
    with pytest.raises(RegionError, match=message):
        check_partition(module(body, declared), "f", 64)


def test_what_nobody_reaches_is_not_refused():
    text = "define void @f() {\n  ret void\n}\ndefine void @h() {\n"
    text += '  call void asm "setmaxnreg.dec.sync.aligned.u32 40;", ""()\n  ret void\n}\n'
    check_partition(read_module(text), "f", 32)
