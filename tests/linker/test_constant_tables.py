"""Tables leave the constant bank, but for those that are declared so and those whose address has its type."""

import pytest

from tle_raw.linker.llvm.constant_tables import move_tables
from tle_raw.linker.llvm.text import read_module

pytestmark = pytest.mark.one_triton

MODULE = """
@table = internal unnamed_addr addrspace(4) constant [4 x i32] [i32 1, i32 2, i32 3, i32 4], align 4
@"a table" = private addrspace(4) constant [2 x i32] zeroinitializer, align 4
@declared = internal addrspace(4) constant [2 x i32] zeroinitializer, align 4
@typed = internal addrspace(4) constant [2 x i32] zeroinitializer, align 4
@known = dso_local addrspace(4) externally_initialized constant [2 x i32] zeroinitializer, align 4
@written = internal addrspace(4) global [2 x i32] zeroinitializer, align 4
@table2 = internal addrspace(4) constant i32 7, align 4
@pointers = internal addrspace(1) constant ptr addrspacecast (ptr addrspace(4) @table to ptr), align 8
define i32 @entry(i64 %i) {
  %a = getelementptr i32, ptr addrspacecast (ptr addrspace(4) @table to ptr), i64 %i
  %b = getelementptr i32, ptr addrspacecast (ptr addrspace(4) @"a table" to ptr), i64 %i
  %c = getelementptr i32, ptr addrspacecast (ptr addrspace(4) @declared to ptr), i64 %i
  %d = getelementptr i32, ptr addrspace(4) @typed, i64 %i
  %e = load i32, ptr addrspacecast (ptr addrspace(4) @table2 to ptr)
  ret i32 %e
}
"""


def test_only_tables_of_the_module_that_nobody_declared_constant_move():
    module = read_module(MODULE)
    edited = module.edited(move_tables(module, lambda name: name == "declared")).text
    kept = [line.split()[0] for line in edited.splitlines() if "addrspace(4)" in line and line.startswith("@")]
    assert kept == ["@declared", "@typed", "@known", "@written"]
    assert edited.count("(ptr addrspace(1) @table to ptr)") == 2
    assert '(ptr addrspace(1) @"a table" to ptr)' in edited and "(ptr addrspace(1) @table2 to ptr)" in edited
    assert "(ptr addrspace(4) @declared to ptr)" in edited
