"""Stacks of workers, and how one is left for another: machine code of this machine's architecture.

The functions are naked: their instructions are all that they are. What a function must keep for its caller lies on its
stack while another one runs, under the stack pointer that ``tle.switch`` stores.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass

from tle_raw.errors import ToolchainError

BYTES = 256 * 1024  # tiles lie in scratch memory: this is for saved registers, and for what is called
# The hot ends of stacks would fall into the same few sets of the cache at distances of a power of two.
DISTANCE = BYTES + 4160
CANARY = 0x5AFE57AC5AFE57AC  # the lowest word of a stack that was not overrun


@dataclass(frozen=True)
class _Machine:
    """Words of a stack that begins, and three functions.

    ``record``, ``entry``, ``back`` and ``frame`` are where ``tle.switch`` takes ``start``'s registers and its return
    address from; ``switch(from, to)`` stores the stack pointer and goes on at another; ``start`` calls the entry with
    the record; ``on_stack(stack pointer, function, pointer, i32)`` calls a function on another stack.
    """

    words: int
    record: int
    entry: int
    frame: int
    back: int
    switch: str
    start: str
    on_stack: str


_X86_64 = _Machine(
    words=10,
    record=3,
    entry=4,
    frame=5,
    back=6,
    switch=(
        "pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15; movq %rsp, (%rdi); movq %rsi, %rsp; "
        "popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp; retq"
    ),
    # Sixteen bytes are aligned before a call.
    start="andq $$-16, %rsp; movq %r12, %rdi; callq *%rbx; ud2",
    on_stack=(
        "pushq %rbp; movq %rsp, %rbp; movq %rdi, %rsp; andq $$-16, %rsp; movq %rsi, %rax; movq %rdx, %rdi; "
        "movl %ecx, %esi; callq *%rax; movq %rbp, %rsp; popq %rbp; retq"
    ),
)
_AARCH64 = _Machine(
    words=20,
    record=0,
    entry=1,
    frame=10,
    back=11,
    switch=(
        "sub sp, sp, #160; stp x19, x20, [sp]; stp x21, x22, [sp, #16]; stp x23, x24, [sp, #32]; "
        "stp x25, x26, [sp, #48]; stp x27, x28, [sp, #64]; stp x29, x30, [sp, #80]; stp d8, d9, [sp, #96]; "
        "stp d10, d11, [sp, #112]; stp d12, d13, [sp, #128]; stp d14, d15, [sp, #144]; mov x9, sp; str x9, [x0]; "
        "mov sp, x1; ldp x19, x20, [sp]; ldp x21, x22, [sp, #16]; ldp x23, x24, [sp, #32]; ldp x25, x26, [sp, #48]; "
        "ldp x27, x28, [sp, #64]; ldp x29, x30, [sp, #80]; ldp d8, d9, [sp, #96]; ldp d10, d11, [sp, #112]; "
        "ldp d12, d13, [sp, #128]; ldp d14, d15, [sp, #144]; add sp, sp, #160; ret"
    ),
    start="mov x0, x19; blr x20; brk #0x1",
    on_stack=(
        "stp x29, x30, [sp, #-16]!; mov x29, sp; and x9, x0, #-16; mov sp, x9; mov x8, x1; mov x0, x2; mov w1, w3; "
        "blr x8; mov sp, x29; ldp x29, x30, [sp], #16; ret"
    ),
)
_MACHINES = {"x86_64": _X86_64, "amd64": _X86_64, "aarch64": _AARCH64, "arm64": _AARCH64}


def stack_functions() -> str:
    """The functions, and ``tle.new_stack(lowest, record, entry)``, which gives the stack pointer of a new stack.

    Raises
    ------
    ToolchainError : the machine is neither x86-64 nor aarch64.
    """
    name = platform.machine().lower()
    if name not in _MACHINES:
        raise ToolchainError(f"specialised warps on the CPU need x86-64 or aarch64, this machine is {name}")
    machine = _MACHINES[name]
    naked = "".join(
        f"""
llvm.func internal @tle.{function}({parameters}) {result}attributes {{passthrough = ["naked", "noinline"]}} {{
  llvm.inline_asm has_side_effects "{text}", "" : () -> ()
  llvm.unreachable
}}"""
        for function, parameters, result, text in (
            ("switch", "%from: !llvm.ptr, %to: !llvm.ptr", "", machine.switch),
            ("start", "", "", machine.start),
            (
                "on_stack",
                "%stack: !llvm.ptr, %function: !llvm.ptr, %given: !llvm.ptr, %number: i32",
                "-> i32 ",
                machine.on_stack,
            ),
        )
    )
    return f"""{naked}
func.func private @tle.new_stack(%lowest: !llvm.ptr, %record: !llvm.ptr, %entry: !llvm.ptr) -> !llvm.ptr {{
  %canary = arith.constant {CANARY} : i64
  llvm.store %canary, %lowest : i64, !llvm.ptr
  %start = llvm.mlir.addressof @tle.start : !llvm.ptr
  %none = llvm.mlir.zero : !llvm.ptr
  %top = llvm.getelementptr %lowest[{BYTES - 8 * machine.words}] : (!llvm.ptr) -> !llvm.ptr, i8
  %record_at = llvm.getelementptr %top[{machine.record}] : (!llvm.ptr) -> !llvm.ptr, i64
  %entry_at = llvm.getelementptr %top[{machine.entry}] : (!llvm.ptr) -> !llvm.ptr, i64
  %frame_at = llvm.getelementptr %top[{machine.frame}] : (!llvm.ptr) -> !llvm.ptr, i64
  %back_at = llvm.getelementptr %top[{machine.back}] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %record, %record_at : !llvm.ptr, !llvm.ptr
  llvm.store %entry, %entry_at : !llvm.ptr, !llvm.ptr
  llvm.store %none, %frame_at : !llvm.ptr, !llvm.ptr
  llvm.store %start, %back_at : !llvm.ptr, !llvm.ptr
  return %top : !llvm.ptr
}}
"""
