"""Runs right declarations in kernels on the CPU, and holds wrong ones against what refuses them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

import tle_raw
from tests.fuzz.signatures import cuda_text
from tests.fuzz.signatures.declared import Case, Declared, Port, tag, weight
from tests.fuzz.signatures.drawing import LANGUAGES, Wrong
from tle_raw.adapters.common.kernel_text import kernel_of_text
from tle_raw.errors import CallError, SignatureError, SignatureMismatchError
from tle_raw.fragments.binding import bind, match_arguments
from tle_raw.fragments.bound import CONST, ELEMENT, POINTER, SCALAR, TILE

REFUSALS = (SignatureMismatchError, SignatureError, CallError)
LANES = 8  # of an elementwise call


def source_of(case: Case) -> str:
    language = LANGUAGES[case.function.dialect]
    headers = cuda_text.HEADERS if case.function.dialect == "cuda" else ""
    return headers + language.function_text(case.function, case if case.function.has_body else None)


def fragment_of(case: Case) -> Any:
    return tle_raw.fragment(source_of(case), signature=case.signature, dialect=case.function.dialect)


def described(case: Case) -> str:
    return f"{case.function.dialect}: {case.signature}\n{source_of(case)}"


# --- wrong ones ---------------------------------------------------------------------------------------------------


def not_refused(wrong: Wrong) -> str:
    """What is wrong with how a wrong declaration is met; nothing when it is refused by a named error."""
    try:
        if wrong.place == "call":
            signature = wrong.case.signature
            bind(signature, match_arguments(signature, wrong.arguments, {}), {}, _free_names(wrong.case))
        else:
            fragment_of(wrong.case).compile(target="cuda:90", **wrong.case.names)
    except REFUSALS:
        return ""
    except BaseException as error:
        return f"{wrong.place}, {wrong.what}: {type(error).__name__}: {error}\n{described(wrong.case)}"
    return f"{wrong.place}, {wrong.what}: taken\n{described(wrong.case)}"


def _free_names(case: Case) -> dict[str, int]:
    """Names that only outputs have: the call itself states them."""
    bound = {d for p in case.parameters if p.effect != "Out" for d in p.dims}
    return {d: v for d, v in case.names.items() if d not in bound and not d.startswith("C_")}


# --- right ones ---------------------------------------------------------------------------------------------------


@dataclass
class _Call:
    """One region in the kernel: its lines, the arrays that it takes, and those that it must give."""

    lines: list[str]
    arrays: dict[str, Any]
    wanted: dict[str, np.ndarray]


def wrong_numbers(cases: Sequence[Case], seed: int) -> str:
    """Calls all in one kernel; what differs from NumPy, or what was raised."""
    random = Random(seed)
    calls = [_call(random, case, index) for index, case in enumerate(cases)]
    fragments = {case.name: fragment_of(case) for case in cases}
    arrays = {name: array for call in calls for name, array in call.arrays.items()}
    lines = "".join(f"    {line}\n" for call in calls for line in call.lines)
    text = f"def kernel({', '.join(arrays)}):\n{lines}"
    try:
        kernel = kernel_of_text("kernel", text, fragments, [f.cache_key for f in fragments.values()])
        kernel[(1,)](*arrays.values())
    except Exception as error:
        return f"{type(error).__name__}: {error}\n{text}\n" + "\n".join(map(described, cases))
    found = [_difference(call, case) for call, case in zip(calls, cases)]
    return "\n".join(filter(None, found))


def _difference(call: _Call, case: Case) -> str:
    for name, wanted in call.wanted.items():
        got = _numbers(call.arrays[name]).reshape(-1)[: wanted.size]
        if not np.array_equal(got, wanted.reshape(-1)):
            return f"{name} is {got.tolist()}, should be {wanted.reshape(-1).tolist()}\n{described(case)}"
    return ""


def _call(random: Random, case: Case, index: int) -> _Call:
    call = _Call([], {}, {})
    given: dict[str, Any] = {}
    for p in case.parameters:
        given[p.name] = _value(random, p)
    passed = [_passed(call, p, f"a{index}_{p.name}", given[p.name]) for p in case.parameters if p.effect != "Out"]
    names = [f"{name}={value}" for name, value in _free_names(case).items()]
    returned = [p for p in case.parameters if p.effect != "In" and p.kind != POINTER]
    results = [f"r{index}_{p.name}" for p in returned] + ([f"r{index}_result"] if case.result else [])
    target = f"{', '.join(results)} = " if results else ""
    call.lines.append(f"{target}{case.name}({', '.join([*passed, *names])})")
    total = _total(case, given)
    for p in returned:
        _give_back(call, case, p, f"r{index}_{p.name}", total, given)
    if case.result:
        shape = (LANES,) if case.is_elementwise else ()
        _store(call, f"r{index}_result", shape, np.broadcast_to(total, shape).astype(np.float64))
    elif case.told == "out":
        call.wanted[f"a{index}_out"] = np.array([total], np.float64)
    return call


def _value(random: Random, p: Declared) -> Any:
    """Small whole numbers, which every dtype holds."""
    if p.kind == CONST:
        return p.value
    size = {SCALAR: 1, POINTER: 2, ELEMENT: LANES}.get(p.kind, math.prod(p.shape) or 1)
    numbers = [random.randint(0, 1 if p.dtype == "i1" else 9) for _ in range(size)]
    return np.array(numbers, np.float64).reshape(p.shape if p.kind == TILE else (size,))


def _passed(call: _Call, p: Declared, name: str, value: Any) -> str:
    """The argument's text."""
    if p.kind == CONST:
        return str(value)
    call.arrays[name] = _array(value, p.dtype)
    if p.kind == POINTER:
        return name
    call.lines.append(f"v{name} = tl.load({name}{_offsets(value.shape if p.kind != SCALAR else ())})")
    return f"v{name}"


def _offsets(shape: Sequence[int]) -> str:
    """``+ tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :]``."""
    text = ""
    for axis, size in enumerate(shape):
        index = "" if len(shape) == 1 else f"[{', '.join(':' if i == axis else 'None' for i in range(len(shape)))}]"
        text += f" + tl.arange(0, {size}){index} * {math.prod(shape[axis + 1 :])}"
    return text


def _array(values: np.ndarray, dtype: str) -> Any:
    if dtype == "bf16":
        import torch

        return torch.tensor(values, dtype=torch.bfloat16)
    return values.astype(_numpy(dtype))


def _numpy(dtype: str) -> Any:
    if dtype == "i1":
        return np.bool_
    return np.dtype({"i": "i", "u": "u", "f": "f"}[dtype[0]] + str(int(dtype[1:]) // 8))


def _numbers(array: Any) -> np.ndarray:
    return (array if isinstance(array, np.ndarray) else array.float().numpy()).astype(np.float64)


def _total(case: Case, given: dict[str, Any]) -> Any:
    total: Any = 0.0
    for index, port in enumerate(case.function.ports):
        p = port.declared
        is_taken = port.types or (case.function.dialect == "cuda" and p.kind == CONST)
        if not is_taken or p.name == "out":
            continue
        if p.effect != "Out":
            total = total + weight(index) * _seen(p, given[p.name])
        total = total + _descriptor_sum(p, port)
    return total


def _seen(p: Declared, value: Any) -> Any:
    if p.kind == ELEMENT or p.kind == CONST:
        return value
    return float(value.reshape(-1)[{SCALAR: 0, POINTER: 1}.get(p.kind, -1)])


def _descriptor_sum(p: Declared, port: Port) -> int:
    if p.kind != TILE or len(port.types) == 1:
        return 0
    strides = [math.prod(p.shape[axis + 1 :]) for axis in range(len(p.shape))]
    return sum(number * (place + 1) for place, number in enumerate([0, *p.shape, *strides]))


def _give_back(call: _Call, case: Case, p: Declared, name: str, total: Any, given: dict[str, Any]) -> None:
    if p.kind == ELEMENT:
        _store(call, name, (LANES,), np.broadcast_to(total, (LANES,)).astype(np.float64))
        return
    index = next(i for i, port in enumerate(case.function.ports) if port.declared is p)
    wanted = given[p.name].reshape(-1).copy()
    wanted[0] = tag(index, p.dtype)
    _store(call, name, p.shape, wanted if p.effect == "InOut" else wanted[:1], p.dtype)


def _store(call: _Call, name: str, shape: Sequence[int], wanted: np.ndarray, dtype: str = "f64") -> None:
    call.arrays[f"o{name}"] = _array(np.zeros(shape or (1,)), dtype)
    call.wanted[f"o{name}"] = wanted
    call.lines.append(f"tl.store(o{name}{_offsets(shape)}, {name})")
