"""A kernel's results against those of TileLang alone, from the same inputs."""

from __future__ import annotations

from typing import Any

TOLERANCE = {"float64": 1e-6, "float32": 2e-3, "float16": 1e-2, "bfloat16": 1e-2}  # of the norm of all elements
OF_OTHERS = 5e-2  # floats of eight bits and less


def agrees_with_tilelang(kernel: Any) -> tuple[str, str]:
    """``right`` or ``wrong``, and by how much; ``not checked`` where TileLang alone does not run it."""
    import torch

    every = kernel.before
    try:
        alone = kernel.session.compile_alone(kernel)
        given = alone(*(a for i, a in enumerate(every) if i not in kernel.results))
        torch.cuda.synchronize()
    except Exception as error:
        return "not checked", f"TileLang alone: {type(error).__name__}: {str(error).strip().splitlines()[-1:]}"
    given = [given] if isinstance(given, torch.Tensor) else list(given or [])
    for i, value in zip(kernel.results, given):
        every[i] = value
    worst = ""
    for name, ours, theirs in zip(_names(kernel.prim_func), kernel.after, every):
        if isinstance(ours, torch.Tensor):
            worst = worst or _difference(name, ours, theirs)
    return ("wrong", worst) if worst else ("right", "")


def _names(prim_func: Any) -> list[str]:
    return [str(p.name) for p in prim_func.params]


def _difference(name: str, ours: Any, theirs: Any) -> str:
    import torch

    kind = str(ours.dtype).removeprefix("torch.")
    if not ours.dtype.is_floating_point:
        differ = int((ours != theirs).sum())
        return f"{differ} of {ours.numel()} elements of {name} differ from TileLang's" if differ else ""
    ours, theirs = ours.double(), theirs.double()
    odd = ~torch.isfinite(theirs)
    if not torch.equal(ours[odd].nan_to_num(nan=3.0), theirs[odd].nan_to_num(nan=3.0)):
        return f"infinities or not-a-numbers of {name} differ from TileLang's"
    ours, theirs = ours.masked_fill(odd, 0), theirs.masked_fill(odd, 0)
    error = float((ours - theirs).norm() / theirs.norm().clamp_min(1e-30))
    return (
        f"{name} differs by {error:.1e} of its norm from TileLang's"
        if not error <= TOLERANCE.get(kind, OF_OTHERS)
        else ""
    )
