"""The subjects in LLVM IR."""

from __future__ import annotations

from typing import Any

import tle_raw
from tle_raw import Element, InOut, Out, Pointer, Scalar, Tile

THREADS = "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\ndeclare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()\n"


def over(count: str, body: str) -> str:
    """A function's body in which each thread takes %i = thread, thread + threads, … below ``count``."""
    return f"""entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %threads = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  br label %check
check:
  %i = phi i32 [ %thread, %entry ], [ %next, %work ]
  %more = icmp slt i32 %i, {count}
  br i1 %more, label %work, label %end
work:
{body}
  %next = add i32 %i, %threads
  br label %check
end:
  ret void
"""


@tle_raw.dialect("llvm", source=f"""{THREADS}
define void @running(ptr addrspace(3) %x, ptr addrspace(3) %y) {{
entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %thread, 0
  br i1 %first, label %work, label %end
work:
  %i = phi i32 [ 0, %entry ], [ %next, %work ]
  %sum = phi float [ 0.0, %entry ], [ %more, %work ]
  %p = getelementptr float, ptr addrspace(3) %x, i32 %i
  %v = load float, ptr addrspace(3) %p
  %more = fadd float %sum, %v
  %q = getelementptr float, ptr addrspace(3) %y, i32 %i
  store float %more, ptr addrspace(3) %q
  %next = add i32 %i, 1
  %again = icmp slt i32 %next, 256
  br i1 %again, label %work, label %end
end:
  ret void
}}
""")  # fmt: skip
def running(x: Tile["f32", 256], y: Out[Tile["f32", 256]]): ...


SCALED = """  %p = getelementptr float, ptr addrspace(3) %t, i32 %i
  %v = load float, ptr addrspace(3) %p
  %m = fmul float %v, %s
  %f = sitofp i32 %k to float
  %r = fadd float %m, %f
  store float %r, ptr addrspace(3) %p"""


@tle_raw.dialect("llvm", source=f"""{THREADS}
define void @scaled(ptr addrspace(3) %t, float %s, i32 %k) {{
{over("256", SCALED)}}}
""")  # fmt: skip
def scaled(t: InOut[Tile["f32", 256]], s: Scalar["f32"], k: Scalar["i32"]): ...


def product(factor: float) -> Any:
    def product(x: Element["f32"], w: Element["f32"]) -> Element["f32"]: ...

    return tle_raw.dialect("llvm", source=f"""
define float @product(float %x, float %w) {{
  %a = fmul float %x, %w
  %b = fmul float %x, {factor:e}
  %r = fsub float %a, %b
  ret float %r
}}
""")(product)  # fmt: skip


HALVED = """  %p = getelementptr float, ptr addrspace(1) %x, i32 %i
  %v = load float, ptr addrspace(1) %p
  %h = fmul float %v, 0.5
  %r = fadd float %h, 1.0
  %q = getelementptr float, ptr %y, i32 %i
  store float %r, ptr %q"""


@tle_raw.dialect("llvm", source=f"""{THREADS}
define void @halved(ptr addrspace(1) %x, ptr %y, i32 %n) {{
{over("%n", HALVED)}}}
""")  # fmt: skip
def halved(x: Pointer["f32"], y: InOut[Pointer["f32"]], n: Scalar["i32"]): ...


BOTH = """  %p = getelementptr float, ptr addrspace(3) %x, i32 %i
  %v = load float, ptr addrspace(3) %p
  %d = fadd float %v, %v
  %q = getelementptr float, ptr addrspace(3) %y, i32 %i
  store float %d, ptr addrspace(3) %q
  %positive = fcmp ogt float %v, 0.0
  %s = select i1 %positive, i32 1, i32 -1
  %o = getelementptr i32, ptr addrspace(3) %signs, i32 %i
  store i32 %s, ptr addrspace(3) %o"""


@tle_raw.dialect("llvm", source=f"""{THREADS}
define void @both(ptr addrspace(3) %x, ptr addrspace(3) %y, ptr addrspace(3) %signs) {{
{over("256", BOTH)}}}
""")  # fmt: skip
def both(x: Tile["f32", 256], y: Out[Tile["f32", 256]], signs: Out[Tile["i32", 256]]): ...


SUBJECTS = {"tile": running, "scalar": scaled, "element": product(3.0), "pointer": halved, "results": both}


def stub(x: Element["f32"], w: Element["f32"]) -> Element["f32"]: ...


def missing() -> Any:
    text = "define float @there(float %x, float %w) {\n  ret float %x\n}\n"
    return tle_raw.dialect("llvm", source=text, symbol="absent")(stub)


def broken() -> Any:
    text = "define float @stub(float %x, float %w) {\n  %r = fadd float %x, %undeclared\n  ret float %r\n}\n"
    return tle_raw.dialect("llvm", source=text)(stub)
