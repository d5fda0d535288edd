"""A kernel's numbers against something that is none of the region's own: how files of ``tle-raw port`` check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import tle_raw
from tle_raw.adapters.tilelang.arguments import read_sizes
from tle_raw.adapters.tilelang.port.capture import captured
from tle_raw.adapters.tilelang.port.reference.evaluate import evaluate
from tle_raw.adapters.tilelang.port.reference.numbers import Unevaluated
from tle_raw.adapters.tilelang.port.run_alone import copied, run_alone
from tle_raw.errors import Row, TLEError, VerificationError

_EXACT = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_TOLERANCE = {"float64": 1e-6, "float32": 3e-3, "float16": 1e-2, "bfloat16": 2e-2}  # of the norm of all elements
_OF_OTHERS = 6e-2  # floats of eight bits


def check_region(
    name: str,
    region: Any,
    run: Callable[..., Any],
    arguments: Sequence[Any],
    written: Sequence[int],
    reference: tuple[Callable[..., Any], Sequence[int]] | None = None,
) -> None:
    """Run a kernel, and compare the arguments that it wrote; prints on whose word it is right, and its report.

    The other side is the first of these that there is: ``reference``, a function of torch's tensors and the numbers of
    the arguments that it takes, which gives what is written; a float64 evaluation of the PrimFunc by NumPy; TileLang.

    Raises
    ------
    TLEError : the numbers differ.
    """
    before = [copied(a) for a in arguments]
    named = "" if reference is None else f"`{_name_of(reference[0])}`"
    expected, who = _expected(region, before, written, reference)
    ran = run(*arguments)
    labels = [region.as_kernel().program.order[number] for number in written]
    got = [arguments[number] for number in written]
    try:
        _compare_all(name, labels, got, expected, who)
    except VerificationError as error:
        if who == named:
            error.hint = _second_opinion(name, region, before, written, labels, got, who)
        raise
    print(f"{name} computes what {who} says")
    print(tle_raw.report(ran))


def _second_opinion(name: str, region: Any, before: Any, written: Any, labels: Any, got: Any, first: str) -> str:
    """A function of the script may compute something else, or take its arguments in another order."""
    try:
        expected, who = _expected(region, before, written, None)
        _compare_all(name, labels, got, expected, who)
    except (VerificationError, Unevaluated):
        return ""
    return f"it is what {who} says: if {first} is no reference for this kernel, leave out reference="


def _compare_all(name: str, labels: Sequence[str], got: Sequence[Any], expected: Sequence[Any], who: str) -> None:
    for label, value, (wanted, where) in zip(labels, got, expected):
        compare(name, label, value, wanted, where, who)


def _expected(
    region: Any, arguments: Sequence[Any], written: Sequence[int], reference: Any
) -> tuple[list[tuple[Any, Any]], str]:
    """For each argument that is written its values, and which of its elements count; and who says so."""
    reasons = []
    if reference is not None:
        function, inputs = reference
        try:
            found = _by_function(function, [copied(arguments[i]) for i in inputs], [arguments[i] for i in written])
            return [(value, None) for value in found], f"`{_name_of(function)}`"
        except Exception as error:  # the script's own function, which may do anything
            reasons.append(f"`{_name_of(function)}` fails: {type(error).__name__}: {_first_line(error)}")
    try:
        return _by_evaluation(region.as_kernel().program, arguments, written)
    except Unevaluated as error:
        reasons.append(f"a float64 evaluation does not know {error}")
    every, who = run_alone(region, *arguments)
    return [(every[i], None) for i in written], who if who == "TileLang" else f"{who} ({'; '.join(reasons)})"


def _by_function(function: Callable[..., Any], inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
    import torch

    on_cpu = not any(getattr(a, "is_cuda", False) for a in inputs)
    with captured() if on_cpu else nullcontext():
        found = function(*inputs)
    given = list(found) if isinstance(found, (tuple, list)) else [found]
    tensors = [g for g in given if isinstance(g, torch.Tensor)]
    if [tuple(t.shape) for t in tensors] != [tuple(o.shape) for o in outputs]:
        raise ValueError(f"it gives the shapes {[tuple(t.shape) for t in tensors]}")
    return tensors


def _by_evaluation(program: Any, arguments: Sequence[Any], written: Sequence[int]) -> tuple[list[tuple[Any, Any]], str]:
    import torch

    values: dict[str, Any] = {}
    for name, value in zip(program.order, arguments):
        values[name] = as_numpy(value) if isinstance(value, torch.Tensor) else value
    done = evaluate(program, values, sizes_of(program, arguments))
    who = "a float64 evaluation of the PrimFunc" + (
        " says, of the blocks that a minute is enough for," * (not done.is_whole)
    )
    names = [program.order[i] for i in written]
    return [(torch.from_numpy(done.buffers[n]), torch.from_numpy(done.written[n])) for n in names], who


def as_numpy(tensor: Any) -> Any:
    """A copy on the CPU; floats have 64 bits."""
    tensor = tensor.detach().cpu()
    tensor = _wide(tensor) if tensor.dtype.is_floating_point else tensor
    return tensor.contiguous().clone().numpy()


def sizes_of(program: Any, arguments: Sequence[Any]) -> dict[str, int]:
    """The sizes and strides that a PrimFunc leaves open, from the tensors of a call."""
    given = dict(zip(program.order, arguments))
    for name in program.buffers:
        if given[name] is None:
            raise Unevaluated(f"`{name}`, which is not passed")
    return read_sizes(program, arguments)


def compare(name: str, label: str, got: Any, wanted: Any, where: Any, who: str) -> None:
    """``got`` against ``wanted``, as far as ``where`` says; raises VerificationError."""
    import torch

    kind = str(got.dtype).removeprefix("torch.")
    got, wanted = got.detach().cpu(), wanted.detach().cpu()
    if kind in _EXACT:
        differs = got != wanted.to(got.dtype)
        count = int((differs if where is None else differs & where).sum())
        if count:
            raise _wrong(name, label, who, "no element differs", f"{count} of {got.numel()} do")
        return
    got, wanted = _wide(got), _wide(wanted)
    finite = torch.isfinite(wanted)
    counted, odd = (finite, ~finite) if where is None else (finite & where, ~finite & where)
    if bool((got[odd].nan_to_num(nan=3.0) != wanted[odd].nan_to_num(nan=3.0)).any()):
        raise _wrong(name, label, who, "the same infinities and not-a-numbers", "others")
    error = float((got - wanted)[counted].norm() / wanted[counted].norm().clamp_min(1e-30))
    limit = _TOLERANCE.get(kind, _OF_OTHERS)
    if not error <= limit:
        raise _wrong(name, label, who, f"at most {limit:g} of its norm", f"{error:.2g} of it")


def _wide(tensor: Any) -> Any:
    return tensor.double() if tensor.element_size() > 1 else tensor.float().double()


def _wrong(name: str, label: str, who: str, expected: str, got: str) -> TLEError:
    return VerificationError(f"`{label}` of {name} is not what {who} says", table=[Row("difference", expected, got)])


def _name_of(function: Any) -> str:
    """A partial has no name of its own."""
    return str(getattr(function, "func", function).__name__)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), "")
