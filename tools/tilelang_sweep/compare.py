"""A kernel's results against those of TileLang alone, from the same inputs."""

from __future__ import annotations

from typing import Any

TOLERANCE = {"float64": 1e-6, "float32": 2e-3, "float16": 1e-2, "bfloat16": 1e-2}  # of the norm of all elements
OF_OTHERS = 5e-2  # floats of eight bits and less


def agrees_with_tilelang(kernel: Any) -> tuple[str, str]:
    """``right`` or ``wrong``, and by how much; ``not checked`` where TileLang alone does not run it.

    A kernel that leaves elements unwritten, reads memory that nobody wrote or takes places by atomic operations gives
    other numbers each time: where two runs of TileLang alone differ as well, nothing was checked.
    """
    try:
        alone = kernel.session.compile_alone(kernel)
        theirs = _results(kernel, alone)
        found = _first_difference(kernel, kernel.after, theirs)
        if found and (own := _first_difference(kernel, _results(kernel, alone), theirs)):
            return "not checked", f"two runs of TileLang alone differ: {own}"
    except Exception as error:
        return "not checked", f"TileLang alone: {type(error).__name__}: {str(error).strip().splitlines()[-1:]}"
    return ("wrong", found) if found else ("right", "")


def agrees_with_evaluation(kernel: Any) -> tuple[str, str]:
    """As above, of the PrimFunc's own TIR in float64, which needs no GPU and is none of the region's routes."""
    import torch

    from tle_raw.adapters.tilelang import split_kernels
    from tle_raw.adapters.tilelang.port.check_region import as_numpy, compare, sizes_of
    from tle_raw.adapters.tilelang.port.reference.evaluate import evaluate
    from tle_raw.adapters.tilelang.port.reference.numbers import Unevaluated
    from tle_raw.adapters.tilelang.program import read_program
    from tle_raw.errors import TLEError

    try:
        parts = split_kernels(kernel.prim_func)
        if len(parts) != 1:
            return "not checked", f"{len(parts)} launches, of which an evaluation takes one"
        program = read_program(parts[0])
        values = {n: as_numpy(a) if isinstance(a, torch.Tensor) else a for n, a in zip(program.order, kernel.before)}
        done = evaluate(program, values, sizes_of(program, kernel.before))
        for name, got in zip(program.order, kernel.after):
            if isinstance(got, torch.Tensor) and done.written[name].any():
                wanted, where = torch.from_numpy(done.buffers[name]), torch.from_numpy(done.written[name])
                compare(kernel.tried.name, name, got, wanted, where, "a float64 evaluation")
    except Unevaluated as error:
        return "not checked", f"an evaluation does not know {error}"
    except TLEError as error:
        rows = "; ".join(f"{row.got} instead of {row.expected}" for row in error.table)
        return "wrong", f"{error.message} {rows}"
    except Exception as error:
        return "not checked", f"the evaluation fails: {type(error).__name__}: {error}"
    return "right", ""


def _results(kernel: Any, alone: Any) -> list[Any]:
    """Every argument after a run of TileLang's kernel."""
    import torch

    every = [a.clone() if isinstance(a, torch.Tensor) else a for a in kernel.before]
    given = alone(*(a for i, a in enumerate(every) if i not in kernel.results))
    torch.cuda.synchronize()
    given = [given] if isinstance(given, torch.Tensor) else list(given or [])
    for i, value in zip(kernel.results, given):
        every[i] = value
    return every


def _first_difference(kernel: Any, ours: list[Any], theirs: list[Any]) -> str:
    import torch

    pairs = zip(_names(kernel.prim_func), ours, theirs)
    found = (_difference(name, a, b) for name, a, b in pairs if isinstance(a, torch.Tensor))
    return next(filter(None, found), "")


def _names(prim_func: Any) -> list[str]:
    return [str(p.name) for p in prim_func.params]


def _difference(name: str, ours: Any, theirs: Any) -> str:
    import torch

    kind = str(ours.dtype).removeprefix("torch.")
    if not ours.dtype.is_floating_point:
        differ = int((ours != theirs).sum())
        return f"{differ} of {ours.numel()} elements of {name} differ" if differ else ""
    ours, theirs = ours.double(), theirs.double()
    odd = ~torch.isfinite(theirs)
    if not torch.equal(ours[odd].nan_to_num(nan=3.0), theirs[odd].nan_to_num(nan=3.0)):
        return f"infinities or not-a-numbers of {name} differ"
    ours, theirs = ours.masked_fill(odd, 0), theirs.masked_fill(odd, 0)
    error = float((ours - theirs).norm() / theirs.norm().clamp_min(1e-30))
    return f"{name} differs by {error:.1e} of its norm" if not error <= TOLERANCE.get(kind, OF_OTHERS) else ""
