"""Passes on PTX, and what explains why ptxas refused it."""

from __future__ import annotations

from tle_raw.flir.pass_value import CHECKS, OUTSIDE, Pass

PTX = (
    Pass(
        "triton-ptx",
        "ptx",
        "flir/nvidia/calls/ptx.py",
        "Ptx.triton_ptx",
        "Triton's own stage: LLVM's code generation",
        kind=OUTSIDE,
    ),
    Pass(
        "zero-accumulators",
        "ptx",
        "linker/ptx/zero_accumulators.py",
        "zero_accumulators",
        "PTX with the zeros that accumulators of warpgroup products begin with in sight of ptxas",
        for_speed=True,
    ),
    Pass(
        "pair-words",
        "ptx",
        "linker/ptx/pair_words.py",
        "pair_words",
        "PTX with the descriptors of warpgroup products put together from two words",
        for_speed=True,
    ),
    Pass(
        "spread-divisions",
        "ptx",
        "linker/ptx/spread_divisions.py",
        "spread_divisions",
        "PTX with exact divisions next to what uses them",
        for_speed=True,
    ),
    Pass(
        "branch-back",
        "ptx",
        "linker/ptx/branch_back.py",
        "branch_back",
        "PTX with loops of CUDA code that ptxas may unroll, as it does in nvcc's",
        for_speed=True,
    ),
    Pass(
        "wide-local-addresses",
        "ptx",
        "linker/ptx/wide_local_addresses.py",
        "wide_local_addresses",
        "PTX with addresses of CUDA code's local arrays that ptxas follows, and makes registers of short ones",
        for_speed=True,
    ),
    Pass(
        "sink-values",
        "ptx",
        "linker/ptx/sink_values.py",
        "sink_values",
        "PTX with what is one instruction, comparisons above all, next to what uses it",
        for_speed=True,
    ),
    Pass(
        "begin-with-loads",
        "ptx",
        "linker/ptx/begin_with_loads.py",
        "begin_with_loads",
        "PTX with a loop's loads of read-only memory that each turn does in front of its turn's branches",
        for_speed=True,
    ),
    Pass(
        "unroll-once",
        "ptx",
        "linker/ptx/unroll_once.py",
        "unroll_once",
        "PTX with loops of CUDA code that LLVM has unrolled, and that count 64 bits, as LLVM left them",
        for_speed=True,
    ),
    Pass(
        "refuse-indirect-calls",
        "ptx",
        "flir/nvidia/explain_ptx.py",
        "refuse_indirect_calls",
        "no call goes through a pointer",
        kind=CHECKS,
    ),
    Pass(
        "verify-kernel",
        "ptx",
        "linker/verify.py",
        "verify_kernel",
        "one entry, no call left of what was to be inlined; knobs.verify turns it off",
        kind=CHECKS,
    ),
    Pass(
        "explain-refusals",
        "cubin",
        "flir/nvidia/explain_ptx.py",
        "explained_refusals",
        "Triton's own stage, ptxas: what it refuses is told at the fragment's line",
        kind=OUTSIDE,
    ),
)
