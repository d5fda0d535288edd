"""Which pointers a function may write through."""

import pytest

from tle_raw.linker.llvm.text import read_module
from tle_raw.linker.llvm.written_parameters import written_parameters

pytestmark = pytest.mark.one_triton

MODULE = """
define i32 @entry(i32 noundef %0, ptr addrspace(1) noundef readonly captures(none) %1,
                  ptr align 4 dereferenceable(8) %2, { i32, <2 x i32> } %3, ptr readnone %4) #0 {
  ret i32 0
}
define void @nothing() {
  ret void
}
"""


def test_a_pointer_is_written_unless_llvm_excludes_it():
    assert written_parameters(read_module(MODULE), "entry") == (True, False, True, True, False)


def test_a_function_without_parameters():
    assert written_parameters(read_module(MODULE), "nothing") == ()
