"""LLVM IR of a whole kernel for an NVIDIA GPU, as it goes into code generation, made to run on this machine.

Places of threads, and what the threads of a warp do together, become calls of functions that `machine.py` gives.
Everything else stays as it is: what the passes for whole kernels did to it is what runs.
"""

from __future__ import annotations

import re

from tests.fuzz.whole_kernels.expressions import BLOCKS, THREADS

_KERNEL = re.compile(r"define ptx_kernel void @(\S+?)\(")
_PLACE = re.compile(r"declare .*@llvm\.nvvm\.read\.ptx\.sreg\.([\w.]+)\(\).*")
_MET = re.compile(r"declare .*@llvm\.nvvm\.([\w.]+)\(.*")
_LEFT_ALONE = re.compile(r'(?:tail )?call \S+ asm sideeffect "", "=\w,0"\((\S+) (\S+)\)[^,]*')
_PARAMETER = re.compile(r'call ptr addrspace\(101\) asm "mov\.b64 \$0, k_param_(\d+);", "=l"\(\)')
_SIZES = (*[8] * 11, *[4] * 6, *[4] * 4, 8, 4)  # the bytes of each parameter, an array or a scalar
_NEW_MEMORY = re.compile(r"(?:, )?target_mem\d?: \w+(?=[,)])")  # a kind of memory that llvmlite's LLVM does not know
PARAMETERS = "tle_parameters"

_PLACES = {"tid.x": "call i32 @tle_thread()", "ctaid.x": "call i32 @tle_block()"}
_SIZES_OF = {"ntid.x": THREADS, "nctaid.x": BLOCKS, "ntid.y": 1, "ntid.z": 1}
_SHUFFLES = {"idx": 0, "up": 1, "down": 2, "bfly": 3}
_BALLOT = "  %word = zext i1 %q to i32\n  %all = call i32 @tle_ballot(i32 %word)\n"
_MADE = {
    "mulhi.ui": "i32 @{}(i32 %a, i32 %b) {{\n  %x = zext i32 %a to i64\n  %y = zext i32 %b to i64\n"
    "  %z = mul i64 %x, %y\n  %h = lshr i64 %z, 32\n  %r = trunc i64 %h to i32\n  ret i32 %r\n}}",
    "vote.ballot.sync": f"i32 @{{}}(i32 %m, i1 %q) {{{{\n{_BALLOT}  ret i32 %all\n}}}}",
    "vote.any.sync": f"i1 @{{}}(i32 %m, i1 %q) {{{{\n{_BALLOT}  %r = icmp ne i32 %all, 0\n  ret i1 %r\n}}}}",
    "vote.all.sync": f"i1 @{{}}(i32 %m, i1 %q) {{{{\n{_BALLOT}  %r = icmp eq i32 %all, -1\n  ret i1 %r\n}}}}",
    "barrier.cta.sync.aligned.all": "void @{}(i32 %b) {{\n  call void @tle_barrier()\n  ret void\n}}",
    "barrier0": "void @{}() {{\n  call void @tle_barrier()\n  ret void\n}}",
    **{
        f"shfl.sync.{how}.i32": f"i32 @{{}}(i32 %m, i32 %v, i32 %l, i32 %c) {{{{\n"
        f"  %r = call i32 @tle_shuffle(i32 {number}, i32 %v, i32 %l, i32 %c)\n  ret i32 %r\n}}}}"
        for how, number in _SHUFFLES.items()
    },
}
_GIVEN = f"""
declare i32 @tle_thread()
declare i32 @tle_block()
declare void @tle_barrier()
declare i32 @tle_shuffle(i32, i32, i32, i32)
declare i32 @tle_ballot(i32)
@{PARAMETERS} = global [256 x i8] zeroinitializer, align 16
"""


def offsets() -> list[tuple[int, int]]:
    """Where each parameter lies in the launched memory, and its size: the next multiple of its size."""
    found, end = [], 0
    for size in _SIZES:
        begin = -(-end // size) * size
        found.append((begin, size))
        end = begin + size
    return found


def device_code(text: str) -> tuple[str, str]:
    """The module for this machine, and the kernel's name.

    Raises
    ------
    ValueError : the module holds something of the GPU that this file does not know.
    """
    kernel = _KERNEL.search(text)
    if not kernel:
        raise ValueError("no kernel in the module")
    places = [begin for begin, _ in offsets()]
    lines = []
    for line in _NEW_MEMORY.sub("", text).splitlines():
        if line.startswith("target ") or 'asm sideeffect "//' in line:
            continue
        line = _LEFT_ALONE.sub(r"freeze \1 \2", line)
        line = _PARAMETER.sub(
            lambda found: (
                f"getelementptr i8, ptr addrspace(101) addrspacecast (ptr @{PARAMETERS} to ptr addrspace(101)),"
                f" i64 {places[int(found[1])]}"
            ),
            line,
        )
        if (declared := _PLACE.fullmatch(line)) or (declared := _MET.fullmatch(line)):
            line = _definition(declared[1])
        lines.append(line.replace("define ptx_kernel", "define").replace("@llvm.nvvm.", "@gpu."))
    made = "\n".join(lines) + _GIVEN
    if " asm " in made:
        raise ValueError("inline assembly: " + next(line for line in lines if " asm " in line))
    return made, kernel[1]


def _definition(name: str) -> str:
    if name in _MADE:
        return "define internal " + _MADE[name].format("gpu." + name)
    head = f"define internal i32 @gpu.read.ptx.sreg.{name}() {{\n"
    if name in _PLACES:
        return head + f"  %place = {_PLACES[name]}\n  ret i32 %place\n}}"
    if name in _SIZES_OF or name.startswith(("tid.", "ctaid.")):
        return head + f"  ret i32 {_SIZES_OF.get(name, 0)}\n}}"
    raise ValueError(f"@llvm.nvvm.{name} is not known here")
