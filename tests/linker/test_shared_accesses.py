"""Marked accesses become instructions for shared memory; what looks alike stays."""

import pytest

from tle_raw.linker.llvm.shared_accesses import shared_accesses

CALL = 'tail call i32 asm sideeffect "{}", "=r,l"(ptr addrspace(1) %12) #2, !dbg !9'
CHANGED = [
    (r"mov.u32 $0, 0;\0A\09ld.volatile.global.cg.b32 {{ $0 }}, [ $1 + 0 ];", r"\09ld.shared.b32 {{ $0 }}, [ $1 + 0 ];"),
    (r"\09@$9 ld.volatile.global.cg.v4.b32 {{ $0 }}, [ $4 + 0 ];", "@$9 ld.shared.v4.b32 {{ $0 }}, [ $4 + 0 ];"),
    ("st.global.cs.L1::evict_last.L2::cache_hint.v2.b32 [ $2 ], {{ $0, $1 }}, $3;", "st.shared.v2.b32 [ $2 ], {{ $0"),
    ("@$2 st.global.cs.L1::evict_last.b8 [ $1 + 0 ], {{ $0 }};", "@$2 st.shared.b8 [ $1 + 0 ], {{ $0 }};"),
    (r"\0A\09@$3 atom.global.cta.relaxed.add.u32 $0, [ $1 + 0 ], $2;", "@$3 atom.shared.cta.relaxed.add.u32 $0"),
    (r"atom.global.relaxed.cta.cas.b32 $0, [ $1 + 0 ], $2, $3;", "atom.shared.relaxed.cta.cas.b32 $0"),
    ("@$2 red.global.cta.relaxed.max.s32 [ $0 + 0 ], $1;", "@$2 red.shared.cta.relaxed.max.s32 [ $0 + 0 ], $1;"),
]  # fmt: skip
SAME = [
    "ld.global.b32 {{ $0 }}, [ $1 + 0 ];",
    "ld.volatile.global.b32 {{ $0 }}, [ $1 + 0 ];",
    "ld.global.cg.b32 {{ $0 }}, [ $1 + 0 ];",
    "st.global.cs.b32 [ $1 + 0 ], {{ $0 }};",
    "st.global.L1::evict_last.L2::cache_hint.b32 [ $1 + 0 ], {{ $0 }}, $2;",
    "atom.global.gpu.relaxed.add.u32 $0, [ $1 + 0 ], $2;",
    "atom.global.cta.acq_rel.add.u32 $0, [ $1 + 0 ], $2;",
]


def call(assembly):
    return CALL.format(assembly.replace("{{", "{").replace("}}", "}"))


@pytest.mark.parametrize("given, wanted", CHANGED)
def test_a_marked_access_is_one_to_shared_memory(given, wanted):
    text, found = shared_accesses(call(given))
    assert wanted.replace("{{", "{").replace("}}", "}") in text and found == 1
    assert "global" not in text and text.endswith('"=r,l"(ptr addrspace(1) %12) #2, !dbg !9')


@pytest.mark.parametrize("given", SAME)
def test_the_kernels_own_accesses_stay(given):
    assert shared_accesses(call(given)) == (call(given), 0)


def test_only_assembly_is_read():
    text = '@message = constant [40 x i8] c"ld.volatile.global.cg.b32 st.global.cs.L1::"'
    assert shared_accesses(text) == (text, 0)
