"""A kernel asks for as many blocks at a time as its source does."""

from tle_raw.linker.llvm.launch_bounds import least_blocks, with_launch_bounds

KERNEL = """define ptx_kernel void @k(ptr addrspace(1) %0) local_unnamed_addr #0 !dbg !6 {
  ret void
}

define internal void @f() #0 {
  ret void
}

attributes #0 = { nounwind "nvvm.reqntid"="128" }
"""


def test_what_fragments_ask_for():
    assert least_blocks('attributes #1 = { "nvvm.minctasm"="4" }\nattributes #2 = { "nvvm.minctasm"="2" }') == 2
    assert least_blocks('!3 = !{ptr @k, !"minctasm", i32 8}') == 8
    assert least_blocks(KERNEL) == 0


def test_the_kernel_alone_gets_it():
    found = with_launch_bounds(KERNEL, 2, 512)
    assert '@k(ptr addrspace(1) %0) local_unnamed_addr "nvvm.minctasm"="2" #0 !dbg !6 {' in found
    assert found.count("minctasm") == 1


def test_a_limit_of_the_launch_wins():
    limited = KERNEL.replace('"nvvm.reqntid"', '"nvvm.maxnreg"="64" "nvvm.reqntid"')
    assert with_launch_bounds(limited, 2, 512) == limited


def test_several_blocks_that_leave_many_registers_are_not_told():
    assert with_launch_bounds(KERNEL, 3, 128) == KERNEL
    assert "minctasm" in with_launch_bounds(KERNEL, 1, 128)
