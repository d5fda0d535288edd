"""What threads of a block compute alike is told from what differs."""

import pytest

from tle_raw.linker.llvm.uniform import is_divided_by_threads

TEXT = """@tle_raw_kernel = global ptr @f

define ptx_kernel void @f(i1 %asks, i32 %n) {
  %1 = call i32 @llvm.nvvm.read.ptx.sreg.SREG()
  %2 = icmp slt i32 %1, %n
  %3 = and i1 %2, %asks
  %4 = freeze i1 %3
  br i1 %4, label %.lr.ph.split.us, label %.lr.ph.split

.lr.ph.split.us:
  ret void

.lr.ph.split:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.SREG()
"""


@pytest.mark.parametrize(("register", "divided"), [("ctaid.x", False), ("ntid.y", False), ("tid.x", True)])
def test_a_loop_is_divided_by_what_threads_have_of_their_own(register, divided):
    text = TEXT.replace("SREG", register)
    assert is_divided_by_threads(text, "tle_raw_kernel") is divided
    assert not is_divided_by_threads(text.replace(".split.us", ".other"), "tle_raw_kernel")


def test_parameters_of_functions_may_differ():
    text = TEXT.replace("SREG", "ctaid.x").replace("ptx_kernel ", "")
    assert is_divided_by_threads(text, "tle_raw_kernel")
