"""Loads from memory that nothing writes are marked, and no others."""

import pytest

from tle_raw.linker.llvm.read_only_loads import MARK, mark_read_only_loads
from tle_raw.linker.llvm.text import read_module

pytestmark = pytest.mark.one_triton

MODULE = """
define void @entry(ptr noalias noundef readonly captures(none) %0, ptr noundef readonly %1, ptr noalias %out,
                   ptr noalias readonly byval(i64) %3, ptr noalias readonly align 16 %"the last", i1 %4) {
  br label %loop

loop:                                             ; preds = %loop, %5
  %at = phi ptr [ %0, %5 ], [ %next, %loop ]
  %mixed = phi ptr [ %0, %5 ], [ %other, %loop ]
  %next = getelementptr inbounds nuw i8, ptr %at, i64 4
  %other = select i1 %4, ptr %0, ptr %1
  %both = select i1 %4, ptr %next, ptr %"the last"
  %cast = addrspacecast ptr %"the last" to ptr addrspace(1)
  %a = load float, ptr %at, align 4, !tbaa !0
  %b = load <4 x float>, ptr %both, align 16
  %c = load i32, ptr addrspace(1) %cast, align 4
  %d = load float, ptr %mixed, align 4
  %e = load float, ptr %1, align 4
  %f = load float, ptr %out, align 4
  %g = load volatile float, ptr %0, align 4
  %h = load atomic float, ptr %0 monotonic, align 4
  %i = load i64, ptr %3, align 8
  %j = load float, ptr %0, align 4, !invariant.load !0
  br i1 %4, label %loop, label %end

end:
  ret void
}
!0 = !{}
"""


def test_only_loads_through_parameters_that_nothing_writes_are_marked():
    module = read_module(MODULE)
    function = next(module.of_kind("define"))
    edited = module.edited(mark_read_only_loads(module, function)).text
    marked = [line.split()[0] for line in edited.splitlines() if MARK in line]
    assert marked == ["%a", "%b", "%c", "%j"]
    assert "ptr %at, align 4, !tbaa !0, !invariant.load !1\n" in edited and edited.endswith("\n!1 = !{}\n")


def test_a_function_without_such_parameters_stays_as_it_is():
    module = read_module("define i32 @f(ptr readonly %0) {\n  %2 = load i32, ptr %0\n  ret i32 %2\n}\n")
    assert not list(mark_read_only_loads(module, next(module.of_kind("define"))))
