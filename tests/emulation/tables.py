"""Tables of C++ expressions, each evaluated for many values by the threads of one fragment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import tle_raw
from tle_raw.flir.cpu.run_fragment import run_fragment, storage
from tle_raw.fragments.dtypes import DTYPES
from tle_raw.fragments.fragment import Fragment
from tle_raw.fragments.parameter_types import Parameter, Pointer, Scalar
from tle_raw.fragments.signature import Signature

# What a table's value is in C++, and under which dtype its bits cross.
KINDS = {
    "float": "f32",
    "double": "f64",
    "int": "i32",
    "unsigned": "u32",
    "long long": "i64",
    "unsigned long long": "u64",
    "short": "i16",
    "unsigned short": "u16",
    "unsigned char": "u8",
    "__half": "f16",
    "__nv_bfloat16": "bf16",
    "__half2": "u32",
    "__nv_bfloat162": "u32",
}


def run(fragment: Fragment, *, num_warps: int = 4, program=(0, 0, 0), grid=(1, 1, 1), names=None, **values: Any) -> Any:
    """Compile for the CPU and run; the one result, or a list of them."""
    compiled = fragment.compile(target="cpu", **(names or {}))
    results = run_fragment(compiled, values, num_warps=num_warps, program=program, grid=grid)
    return results[0] if len(results) == 1 else results


def evaluate(
    expressions: Sequence[str],
    inputs: Mapping[str, tuple[str, np.ndarray]],
    result: str,
    *,
    headers: Sequence[str] = (),
    code: str = "",
) -> np.ndarray:
    """``table[expression, index]``; the expressions name the inputs, ``i`` and ``n``.

    An input's array holds the bits of its C++ type.
    """
    count = len(next(iter(inputs.values()))[1])
    lines = [f"#include <{header}>" for header in headers] + [code]
    pointers = "".join(f"const {_memory(kind)}* {name}_, " for name, (kind, _) in inputs.items())
    lines.append(f"__device__ void table({pointers}{_memory(result)}* out_, int n) {{")
    lines.append(f"  {result}* out = ({result}*)out_;")
    lines.append("  for (int i = threadIdx.x; i < n; i += blockDim.x) {")
    lines += [f"    const {kind} {name} = ((const {kind}*){name}_)[i];" for name, (kind, _) in inputs.items()]
    lines += [f"    out[{k} * n + i] = ({result})({text});" for k, text in enumerate(expressions)]
    lines.append("  }\n}\n")
    parameters = [_pointer(f"{name}_", kind) for name, (kind, _) in inputs.items()]
    parameters += [_pointer("out", result), Parameter("n", Scalar["i32"])]
    fragment = tle_raw.fragment("\n".join(lines), signature=Signature("table", tuple(parameters), None), dialect="cuda")
    out = np.zeros((len(expressions), count), storage(DTYPES[KINDS[result]]))
    values = {f"{name}_": np.ascontiguousarray(array) for name, (_, array) in inputs.items()}
    run(fragment, **values, out=out, n=count)
    return out


def _memory(kind: str) -> str:
    """The type behind the pointer: a pair of halves crosses as its bits."""
    return "unsigned" if kind.endswith("2") else kind


def _pointer(name: str, kind: str) -> Parameter:
    return Parameter(name, Pointer[KINDS[kind]])


def apart(array: np.ndarray) -> np.ndarray:
    """The array with a page on both sides, so that an access beside it lies beside no other one."""
    page = 4096 // array.itemsize
    inside = np.zeros(array.size + 2 * page, array.dtype)[page : page + array.size]
    inside[:] = array
    return inside
