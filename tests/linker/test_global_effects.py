"""What an entry may do to global memory: what its parameters say, else its instructions; in doubt everything."""

import pytest

from tle_raw.linker.llvm.arithmetic_assembly import without_arithmetic
from tle_raw.linker.llvm.global_effects import GlobalEffects, global_effects
from tle_raw.linker.llvm.references import reachable, references
from tle_raw.linker.llvm.text import read_module

pytestmark = pytest.mark.one_triton

TEXT = """
@counter = internal addrspace(1) global i32 0
@table = internal addrspace(1) constant [2 x i32] [i32 1, i32 2]
@scratch = internal addrspace(3) global [4 x float] undef
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare float @known(float) #0
declare float @unknown(float)
define float @loads(ptr addrspace(1) %p) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %a = getelementptr float, ptr addrspace(1) %p, i32 %i
  %v = load float, ptr addrspace(1) %a
  %w = call float @known(float %v)
  ret float %w
}
define void @stores(ptr addrspace(1) %p, float %v) {
  store float %v, ptr addrspace(1) %p
  ret void
}
define void @calls_a_store(ptr addrspace(1) %p, float %v) {
  call void @stores(ptr addrspace(1) %p, float %v)
  ret void
}
define void @told(ptr addrspace(1) noundef readonly captures(none) %p, ptr noundef writeonly align 4 %q) {
  %v = load float, ptr addrspace(1) %p
  store float %v, ptr %q
  ret void
}
define float @told_to_read(ptr addrspace(1) readonly %p) {
  store float 1.0, ptr addrspace(3) @scratch
  %v = load float, ptr addrspace(1) %p
  ret float %v
}
define void @told_to_write(ptr addrspace(1) writeonly %p) {
  store float 1.0, ptr addrspace(1) %p
  ret void
}
define void @told_nothing(ptr addrspace(1) readnone %p) {
  ret void
}
define float @calls_unknown(ptr addrspace(1) %p) {
  %v = load float, ptr addrspace(1) %p
  %w = call float @unknown(float %v)
  ret float %w
}
define void @counts() {
  %v = atomicrmw add ptr addrspace(1) @counter, i32 1 monotonic
  ret void
}
define i32 @looks_up() {
  %v = load i32, ptr addrspace(1) @table
  ret i32 %v
}
define void @by_number(i64 %n) {
  %p = inttoptr i64 %n to ptr addrspace(1)
  store i32 1, ptr addrspace(1) %p
  ret void
}
define void @by_assembly(ptr addrspace(1) readonly %p) {
  call void asm sideeffect "st.global.u32 [$0], 1;", "l"(ptr addrspace(1) %p)
  ret void
}
define i32 @by_arithmetic(ptr addrspace(1) readonly %p, i32 %a) {
  %s = call {i32, i32} asm "{\\0A\\09mad.lo.cc.u32 $0, $2, $2, $2;\\0A\\09madc.hi.u32 $1, $2, $2, 0;}", "=r,=r,r"(i32 1)
  %m = call i32 asm "{vmax2.s32.s32.s32 $0, $1, $1, $1;}", "=r,r"(i32 %a)
  %v = load i32, ptr addrspace(1) %p
  ret i32 %v
}
define i32 @by_one_load(ptr addrspace(1) readonly %p) {
  %v = call i32 asm "{add.u32 $0, 1, 1;\\0A ld.global.u32 $0, [$1];}", "=r,l"(ptr addrspace(1) %p)
  ret i32 %v
}
define i32 @by_clobbers(i32 %a) {
  %v = call i32 asm "add.u32 $0, $1, 1;", "=r,r,~{memory}"(i32 %a)
  ret i32 %v
}
define float @of_numbers(float %x) {
  ret float %x
}
attributes #0 = { nounwind memory(none) }
"""
BOTH, READS, WRITES, NONE = (
    GlobalEffects(r, w) for r, w in ((True, True), (True, False), (False, True), (False, False))
)


@pytest.mark.parametrize(
    "entry, effects",
    {
        "loads": READS,
        "stores": BOTH,
        "calls_a_store": BOTH,
        "told": BOTH,
        "told_to_read": READS,
        "told_to_write": WRITES,
        "told_nothing": NONE,
        "calls_unknown": BOTH,
        "counts": BOTH,
        "looks_up": NONE,
        "by_number": BOTH,
        "by_assembly": BOTH,
        "by_arithmetic": READS,
        "by_one_load": BOTH,
        "by_clobbers": BOTH,
        "of_numbers": NONE,
    }.items(),
)
def test_effects(entry, effects):
    module = read_module(TEXT)
    assert global_effects(module, entry, reachable(references(module), [entry])) == effects


@pytest.mark.parametrize(
    ("assembly", "computes"),
    [
        ("mov.b32 $0, {$1, $2};", True),
        (r"{ .reg .pred p;\0A setp.ne.b32 p, $1, 0;\0A @!p add.u32 $0, $1, 1; }", True),
        (r"// ld.global\0A\09cvt.rn.f16.f32 $0, $1;", True),
        ("", True),
        ("/* a load */ ld.global.u32 $0, [$1];", False),
        ("@$2 ld.global.u32 $0, [$1];", False),
        ("@%p st.global.u32 [$1], $0;", False),
        ("L1: membar.gl;", False),
        ("add.u32 $0, $1, 1; bar.sync 0;", False),
        ("{ call $0, f, ($1); }", False),
    ],
)
def test_assembly_computes_only_if_each_statement_is_known_to(assembly, computes):
    line = f'  %v = call i32 asm "{assembly}", "=r,l,b"(ptr addrspace(1) %p, i1 %q)'
    assert (" asm " not in without_arithmetic(line)) == computes
