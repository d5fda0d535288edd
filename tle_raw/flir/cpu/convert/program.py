"""What a kernel may ask about its launch, and hints that mean nothing on a CPU."""

from __future__ import annotations

from tle_raw.flir.cpu.convert import build, checks
from tle_raw.flir.cpu.convert.kernel import Kernel, converts
from tle_raw.flir.cpu.mlir_values import Operation


@converts("tt.get_program_id")
def program_id(kernel: Kernel, op: Operation) -> None:
    kernel.set(op.results[0], kernel.program[op.attributes["axis"].value])


@converts("tt.get_num_programs")
def num_programs(kernel: Kernel, op: Operation) -> None:
    kernel.set(op.results[0], kernel.grid[op.attributes["axis"].value])


@converts("llvm.intr.assume")
def assume(kernel: Kernel, op: Operation) -> None:
    """Nothing is made of it here, but a GPU's compiler may do anything where it does not hold: a check."""
    if kernel.debug:
        code = kernel.check("assume", "what `tl.assume` says does not hold", op.location)
        checks.fail(kernel, code, build.negated(kernel.scalar(op.operands[0])))


@converts("gpu.barrier", "ttg.barrier", "tt.grid_dependency_wait", "tt.grid_dependency_launch_dependents")
def nothing(kernel: Kernel, op: Operation) -> None:
    """One thread runs a program from the first to the last operation: there is nobody to wait for."""
