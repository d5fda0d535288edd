"""Tries code that could end the process: LLVM does so over an instruction that it cannot make a GPU's of."""

from __future__ import annotations

import re
from collections.abc import Callable

from tle_raw.adapters.common.device_llvm.check import check_code
from tle_raw.errors import Context, SourceLocation, TLEError
from tle_raw.fragments.bound import BoundSignature
from tle_raw.linker.llvm.references import reachable, references
from tle_raw.linker.llvm.sites import Sites
from tle_raw.linker.llvm.text import read_module

# By how they begin. Everything else is tried, in a process of its own, which takes half a second.
_INTRINSICS = """
abs annotation assume bitreverse bswap ceil copysign ctlz ctpop cttz dbg expect experimental.noalias.scope.decl fabs
floor fma fmuladd fshl fshr invariant is.constant is.fpclass launder lifetime maximum maxnum memcpy memmove memset
minimum minnum nearbyint objectsize ptrmask rint roundeven sadd scmp smax smin smul sqrt sshl ssub stackrestore
stacksave strip trap trunc uadd ucmp umax umin umul usub var.annotation
nvvm.add nvvm.atomic nvvm.bar nvvm.barrier nvvm.bitcast nvvm.cos nvvm.cp.async nvvm.d2 nvvm.div nvvm.ex2 nvvm.exit
nvvm.f2 nvvm.fabs nvvm.fence nvvm.ff2 nvvm.fma nvvm.fmax nvvm.fmin nvvm.fns nvvm.i2 nvvm.isspacep nvvm.ld nvvm.lg2
nvvm.ll2 nvvm.lohi nvvm.match nvvm.mbarrier nvvm.membar nvvm.mma nvvm.mul nvvm.mul24 nvvm.nanosleep nvvm.neg nvvm.prmt
nvvm.rcp nvvm.read.ptx nvvm.redux nvvm.round nvvm.rsqrt nvvm.sad nvvm.saturate nvvm.shfl.sync nvvm.sin nvvm.sqrt
nvvm.trunc nvvm.ui2 nvvm.ull2 nvvm.vote nvvm.wmma
"""
_KNOWN = "|".join(re.escape(name) for name in _INTRINSICS.split())
_UNUSUAL = re.compile(
    rf"@llvm\.(?!(?:{_KNOWN})|used\b|compiler\.used\b|global_)[\w.]+\("
    r"|\bi(?:6[5-9]|[7-9]\d|\d{3,})\b"  # integers wider than the GPU's
    r"|\bindirectbr\b|\b(?:fp128|x86_fp80)\b|\bva_arg\b|\binvoke\b|\bthread_local\b"
    r'|\basm [^"\n]*"[^"\n]*", "[^"\n]*\*'  # an operand of inline assembly that is in memory
)
_LOCATION = re.compile(r"([^\s,:]+):(\d+):(\d+)")


def try_unusual(
    text: str,
    entry: str,
    bound: BoundSignature,
    shared: int,
    arch: str,
    function: SourceLocation,
    is_users: Callable[[str], bool],
) -> None:
    """Generate code where something unusual stands in it.

    Parameters
    ----------
    shared : bytes of dynamic shared memory; the entry then takes its address last.

    Raises
    ------
    UnsupportedFeatureError, CompilationFailed : at the line of the user's that LLVM names, or of what is unusual.
    """
    found = _unusual(text, entry)
    if found is None:
        return
    tried, called = _without_shared(text, entry, bound) if shared else (text, entry)
    try:
        check_code(tried, called, bound, arch, function)
    except TLEError as error:
        error.context = Context(source=_location(error, text, found, function, is_users))
        raise


def _unusual(text: str, entry: str) -> re.Match[str] | None:
    """The first place in what the entry reaches."""
    if _UNUSUAL.search(text) is None:
        return None
    module = read_module(text)
    reached = reachable(references(module), [entry])
    bodies = (e for e in module.of_kind("define") if e.name in reached)
    return next((found for e in bodies if (found := _UNUSUAL.search(text, e.body, e.end))), None)


def _without_shared(text: str, entry: str, bound: BoundSignature) -> tuple[str, str]:
    """A function in front of the entry that takes what the signature passes."""
    probe, kinds = f"{entry}_tried", bound.entry_parameters
    taken = ", ".join(f"{kind} %a{i}" for i, kind in enumerate(kinds))
    passed = ", ".join([*(f"{kind} %a{i}" for i, kind in enumerate(kinds)), "i32 0"])
    result = bound.entry_result
    body = f"define {result} @{probe}({taken}) {{\n  %r = call {result} @{entry}({passed})\n  ret {result} %r\n}}\n"
    return f"{text}\n{body}", probe


def _location(
    error: TLEError, text: str, found: re.Match[str], function: SourceLocation, is_users: Callable[[str], bool]
) -> SourceLocation:
    for file, line, column in _LOCATION.findall(error.message):
        if is_users(file):
            return SourceLocation(file, int(line), int(column))
    location = re.search(r"!dbg (!\d+)", text[found.start() : text.find("\n", found.start())])
    site = Sites(read_module(text), function, is_users).source_location(location[1]) if location else None
    return site or function
