"""Which of the block's barriers a module uses, by intrinsics and in inline PTX."""

import pytest

from tle_raw.linker.llvm.barrier_numbers import UNKNOWN, barrier_numbers
from tle_raw.linker.llvm.text import read_module

FORMS = {
    "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)": {0},
    "call void @llvm.nvvm.barrier.cta.sync.count(i32 7, i32 64)": {7},
    "call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 3, i32 %n)": {3},
    "call void @llvm.nvvm.barrier.cta.sync.count(i32 %n, i32 64)": {UNKNOWN},
    "call void @llvm.nvvm.barrier0()": set(),
    "call void @llvm.nvvm.barrier.cluster.arrive()": set(),
    "call void @llvm.nvvm.bar.warp.sync(i32 -1)": set(),
    'call void asm sideeffect "bar.sync 5, 96;", "~{memory}"()': {5},
    'call void asm sideeffect "bar.sync 5, 96;\\0A\\09barrier.cta.arrive 6, 64;", ""()': {5, 6},
    'call void asm sideeffect "barrier.sync $0, $1;", "n,r"(i32 9, i32 %n)': {9},
    'call void asm sideeffect "barrier.sync $0, $1;", "r,r"(i32 %n, i32 64)': {UNKNOWN},
    '%r = call i32 asm sideeffect "bar.red.popc.u32 $0, $1, $2, p;", "=r,n,n"(i32 4, i32 64)': {4},
    'call void asm sideeffect "mbarrier.init.shared.b64 [$0], 1;", "r"(i32 %n)': set(),
    'call void asm sideeffect "@p bar.sync 2;", ""()': {2},
    'call void asm "mbarrier.arrive.shared.b64 _, [$0];\\0A\\09bar.sync 8, 32;", "r"(i32 %n)': {8},
}


@pytest.mark.parametrize("form", FORMS)
def test_numbers(form):
    text = f"define void @f(i32 %n) {{\n  {form}\n  ret void\n}}\n"
    assert barrier_numbers(read_module(text)) == FORMS[form]
