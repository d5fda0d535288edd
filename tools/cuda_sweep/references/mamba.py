"""The selective scan of mamba_ssm, forwards and backwards: torch's gradients of a loop in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuda_sweep.references import Given, reference

PACKAGE = "mamba_ssm"


def _scanned(g: Given, u: Any, delta: Any, a: Any, b: Any, c: Any, d: Any, bias: Any) -> tuple[Any, Any, Any]:
    """What comes out at each place; the product of all decays and the last state."""
    import torch

    step = torch.nn.functional.softplus(delta + bias[:, None])
    decay = torch.exp(step[:, :, None] * a[None, :, :, None])
    added = (step * u)[:, :, None] * b[:, None]
    state, states = torch.zeros_like(added[..., 0]), []
    for place in range(g.L):
        state = decay[..., place] * state + added[..., place]
        states.append(state)
    out = (torch.stack(states, -1) * c[:, None]).sum(2) + d[:, None] * u
    return out, decay.prod(-1), state


def _inputs(g: Given) -> list[Any]:
    import torch

    p, row = g[0], (g.B, g.D, g.L)
    shapes = {"u": row, "delta": row, "A": (g.D, g.N), "B": (g.B, g.N, g.L), "C": (g.B, g.N, g.L), "D": (g.D,)}
    shapes |= {"delta_bias": (g.D,)}
    return [torch.tensor(p[f"{name}_ptr"].reshape(shape), requires_grad=True) for name, shape in shapes.items()]


def _gate(x: np.ndarray) -> np.ndarray:
    return np.asarray(x / (1 + np.exp(-x)))


@reference(PACKAGE, "selective_scan_fwd_kernel")
def _(g: Given) -> Any:
    out, decay, state = (part.detach().numpy() for part in _scanned(g, *_inputs(g)))
    gated = out * _gate(g[0]["z_ptr"]).reshape(out.shape)
    return {(0, "out_ptr"): out, (0, "x_ptr"): np.stack([decay, state], -1), (0, "out_z_ptr"): gated}


@reference(PACKAGE, "selective_scan_bwd_kernel")
def _(g: Given) -> Any:
    """What the gate multiplies is taken as it is given, and not computed once more."""
    import torch

    p, inputs = g[0], _inputs(g)
    z, dout = p["z_ptr"], p["dout_ptr"]
    out = _scanned(g, *inputs)[0]
    out.backward(torch.from_numpy(dout * _gate(z)).reshape(out.shape))
    names = ("du_ptr", "ddelta_ptr", "dA_ptr", "dB_ptr", "dC_ptr", "dD_ptr", "ddelta_bias_ptr")
    found: dict[Any, Any] = {(0, name): value.grad.numpy() for name, value in zip(names, inputs, strict=True)}
    sigmoid = 1 / (1 + np.exp(-z))
    return {**found, (0, "dz_ptr"): dout * p["out_ptr"] * sigmoid * (1 + z * (1 - sigmoid))}
