"""Static shared memory is sized as LLVM lays it out; dynamic shared memory beside it is aligned."""

import pytest

from tests.linker.modules import FRAGMENT
from tle_raw.errors import LinkError, UnsupportedFeatureError
from tle_raw.linker.llvm.shared_memory import (
    SharedVariable,
    dynamic_shared_alignment,
    shared_bytes,
    static_shared,
)
from tle_raw.linker.llvm.text import read_module

pytestmark = pytest.mark.one_triton


def sized(kind, rest="", before=""):
    (variable,) = static_shared(read_module(f"{before}\n@v = internal addrspace(3) global {kind} undef{rest}\n"))
    return variable.bytes, variable.align


@pytest.mark.parametrize(
    ("kind", "size", "align"),
    [
        ("float", 4, 4),
        ("[7 x i8]", 7, 1),
        ("{ i8, double, [3 x float] }", 32, 8),
        ("<{ i8, double, [3 x float] }>", 21, 1),
        ("[2 x { i16, i8 }]", 8, 2),
        ("<3 x float>", 16, 16),
        ("<4 x half>", 8, 8),
        ("ptr", 8, 8),
        ("{ i8, ptr addrspace(3) }", 16, 8),
        ("i128", 16, 16),
        ("i1", 1, 1),
        ("[0 x i32]", None, None),
        ("[4 x [5 x bfloat]]", 40, 2),
        ('%"a b"', 12, 4),
    ],
)
def test_types_have_llvms_sizes(kind, size, align):
    before = '%"a b" = type { %inner, i32 }\n%inner = type { i32, i16 }'
    if size is None:
        with pytest.raises(UnsupportedFeatureError, match="v"):
            sized(kind, before=before)
    else:
        assert sized(kind, before=before) == (size, align)


def test_a_written_alignment_wins():
    assert sized("[3 x i8]", ", align 128") == (3, 128)


def test_short_shared_pointers_follow_the_data_layout():
    layout = 'target datalayout = "e-p3:32:32-p4:32:32-i64:64"'
    assert sized("[2 x ptr addrspace(3)]", before=layout) == (8, 4)


def test_only_what_the_entry_reaches_counts():
    assert static_shared(read_module(FRAGMENT), "entry") == (SharedVariable("scratch", 96, 8),)
    assert [variable.name for variable in static_shared(read_module(FRAGMENT))] == ["scratch", "unused"]


@pytest.mark.parametrize("variable", ["external addrspace(3) global [0 x float]", "external addrspace(3) global i32"])
def test_extern_shared_is_refused_by_name(variable):
    with pytest.raises(UnsupportedFeatureError, match=r"`extern __shared__` \(dyn\)"):
        static_shared(read_module(f"@dyn = {variable}, align 4\n"))


def test_the_total_bounds_every_order():
    assert shared_bytes([SharedVariable("a", 3, 1), SharedVariable("b", 16, 16)]) == 34
    assert shared_bytes([SharedVariable("a", 3, 1)], dynamic_alignment=1024) == 1024


def test_the_dynamic_block_is_aligned():
    text = "@global_smem = external local_unnamed_addr addrspace(3) global [0 x i8], align 16\n"
    assert dynamic_shared_alignment(read_module(text)).text == text.replace("align 16", "align 1024")
    assert dynamic_shared_alignment(read_module(text), 128).text == text.replace("align 16", "align 128")


def test_a_greater_alignment_stays():
    text = "@global_smem = external addrspace(3) global [0 x i8], align 2048\n"
    assert dynamic_shared_alignment(read_module(text)).text == text


def test_a_missing_alignment_is_written():
    text = "@global_smem = external addrspace(3) global [0 x i8]\n"
    assert dynamic_shared_alignment(read_module(text)).text == text.replace("]\n", "], align 1024\n")


def test_a_kernel_without_dynamic_shared_memory_stays():
    assert dynamic_shared_alignment(read_module(FRAGMENT)).text == FRAGMENT


def test_an_alignment_is_a_power_of_two():
    with pytest.raises(LinkError):
        dynamic_shared_alignment(read_module(FRAGMENT), 48)
