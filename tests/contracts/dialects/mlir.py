"""The subjects in MLIR's own text, of operations that Triton's libtriton lowers."""

from __future__ import annotations

from typing import Any

import tle_raw
from tle_raw import Element, InOut, Out, Pointer, Scalar, Tile


def over(count: str, body: str) -> str:
    """A loop in which each thread takes %k = thread, thread + threads, … below the index ``count``."""
    return f"""  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %ntid = nvvm.read.ptx.sreg.ntid.x : i32
  %first = arith.index_cast %tid : i32 to index
  %step = arith.index_cast %ntid : i32 to index
  scf.for %i = %first to {count} step %step {{
    %k = arith.index_cast %i : index to i64
{body}
  }}
  llvm.return
"""


def shared(x: str, type_: str = "f32") -> str:
    return f"llvm.getelementptr %{x}[%k] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, {type_}"


@tle_raw.dialect("mlir", source=f"""llvm.func @running(%x: !llvm.ptr<3>, %y: !llvm.ptr<3>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %leads = arith.cmpi eq, %tid, %none : i32
  scf.if %leads {{
    %total = scf.for %i = %c0 to %end step %c1 iter_args(%sum = %zero) -> (f32) {{
      %k = arith.index_cast %i : index to i64
      %p = {shared("x")}
      %v = llvm.load %p : !llvm.ptr<3> -> f32
      %more = arith.addf %sum, %v : f32
      %q = {shared("y")}
      llvm.store %more, %q : f32, !llvm.ptr<3>
      scf.yield %more : f32
    }}
  }}
  llvm.return
}}
""")  # fmt: skip
def running(x: Tile["f32", 256], y: Out[Tile["f32", 256]]): ...


SCALED = f"""    %p = {shared("t")}
    %v = llvm.load %p : !llvm.ptr<3> -> f32
    %m = arith.mulf %v, %s : f32
    %f = arith.sitofp %n : i32 to f32
    %r = arith.addf %m, %f : f32
    llvm.store %r, %p : f32, !llvm.ptr<3>"""


@tle_raw.dialect("mlir", source=f"""llvm.func @scaled(%t: !llvm.ptr<3>, %s: f32, %n: i32) {{
  %end = arith.constant 256 : index
{over("%end", SCALED)}}}
""")  # fmt: skip
def scaled(t: InOut[Tile["f32", 256]], s: Scalar["f32"], n: Scalar["i32"]): ...


def product(factor: float) -> Any:
    def product(x: Element["f32"], w: Element["f32"]) -> Element["f32"]: ...

    return tle_raw.dialect("mlir", source=f"""llvm.func @product(%x: f32, %w: f32) -> f32 {{
  %c = arith.constant {factor} : f32
  %a = arith.mulf %x, %w : f32
  %b = arith.mulf %x, %c : f32
  %r = arith.subf %a, %b : f32
  llvm.return %r : f32
}}
""")(product)  # fmt: skip


HALVED = """    %p = llvm.getelementptr %x[%k] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %v = llvm.load %p : !llvm.ptr<1> -> f32
    %h = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %m = arith.mulf %v, %h : f32
    %r = arith.addf %m, %one : f32
    %q = llvm.getelementptr %y[%k] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    llvm.store %r, %q : f32, !llvm.ptr<1>"""


@tle_raw.dialect("mlir", source=f"""llvm.func @halved(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i32) {{
  %end = arith.index_cast %n : i32 to index
{over("%end", HALVED)}}}
""")  # fmt: skip
def halved(x: Pointer["f32"], y: InOut[Pointer["f32"]], n: Scalar["i32"]): ...


BOTH = f"""    %p = {shared("x")}
    %v = llvm.load %p : !llvm.ptr<3> -> f32
    %d = arith.addf %v, %v : f32
    %q = {shared("y")}
    llvm.store %d, %q : f32, !llvm.ptr<3>
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1 : i32
    %minus = arith.constant -1 : i32
    %positive = arith.cmpf ogt, %v, %zero : f32
    %s = arith.select %positive, %one, %minus : i32
    %o = {shared("signs", "i32")}
    llvm.store %s, %o : i32, !llvm.ptr<3>"""


@tle_raw.dialect("mlir", source=f"""llvm.func @both(%x: !llvm.ptr<3>, %y: !llvm.ptr<3>, %signs: !llvm.ptr<3>) {{
  %end = arith.constant 256 : index
{over("%end", BOTH)}}}
""")  # fmt: skip
def both(x: Tile["f32", 256], y: Out[Tile["f32", 256]], signs: Out[Tile["i32", 256]]): ...


SUBJECTS = {"tile": running, "scalar": scaled, "element": product(3.0), "pointer": halved, "results": both}


def stub(x: Element["f32"], w: Element["f32"]) -> Element["f32"]: ...


def missing() -> Any:
    text = "llvm.func @there(%x: f32, %w: f32) -> f32 {\n  llvm.return %x : f32\n}\n"
    return tle_raw.dialect("mlir", source=text, symbol="absent")(stub)


def broken() -> Any:
    return tle_raw.dialect("mlir", source="""
llvm.func @stub(%x: f32, %w: f32) -> f32 {
  %r = arith.addf %x, %undeclared : f32
  llvm.return %r : f32
}
""")(stub)  # fmt: skip
