"""Sample 05: per-token-group fp8 quantisation. Two Out tiles come back, one of them fp8; a name stands for a dtype."""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw
from tle_raw import Out, Tile

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

GROUP = 128  # columns that share a scale


# Q is the dtype of the quantised bytes. Triton knows fp8 e4m3 on the CPU and from sm_89 on; on older GPUs they are
# plain bytes.
@tle_raw.dialect("cuda", file="quantise.cu")
def quantise(x: Tile["f32", "M", "N"], q: Out[Tile["Q", "M", "N"]], scales: Out[Tile["f32", "M", "G"]]): ...


@triton.jit
def quantise_groups(x_ptr, q_ptr, scale_ptr, rows, cols, groups, M: tl.constexpr, N: tl.constexpr, G: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)[:, None]
    col = tl.program_id(1) * N + tl.arange(0, N)[None, :]
    inside = (row < rows) & (col < cols)
    x = tl.load(x_ptr + row * cols + col, mask=inside, other=0.0).to(tl.float32)
    q, scales = quantise(x, Q=q_ptr.dtype.element_ty, G=G)
    tl.store(q_ptr + row * cols + col, q, mask=inside)
    group = tl.program_id(1) * G + tl.arange(0, G)[None, :]
    tl.store(scale_ptr + row * groups + group, scales, mask=(row < rows) & (group < groups))


BLOCKS = {"M": 8, "N": 4 * GROUP, "G": 4}
SIZES = ((1, 1), (3, 127), (16, 512), (77, 1000), (129, 4224))


def compile_for(target):
    parsed = tle_raw.target.parse_target(target)
    bytes_ = "*fp8e4nv" if parsed.backend == "cpu" or parsed.capability >= 89 else "*u8"
    types = {"x_ptr": "*bf16", "q_ptr": bytes_, "scale_ptr": "*fp32", "rows": "i32", "cols": "i32", "groups": "i32"}
    return [common.compile_ahead(quantise_groups, target, types, BLOCKS)]


def launch(x):
    import torch

    rows, cols = x.shape
    groups = triton.cdiv(cols, GROUP)
    q = torch.empty(rows, cols, device=x.device, dtype=torch.float8_e4m3fn)
    scales = torch.empty(rows, groups, device=x.device)
    has_fp8 = common.on_cpu() or triton.runtime.driver.active.get_current_target().arch >= 89
    grid = (triton.cdiv(rows, BLOCKS["M"]), triton.cdiv(cols, BLOCKS["N"]))
    compiled = quantise_groups[grid](x, q if has_fp8 else q.view(torch.uint8), scales, rows, cols, groups, **BLOCKS)
    return compiled, q, scales


def reference(x):
    """The same numbers to the bit: float32 throughout, as the definition says."""
    import torch

    rows, cols = x.shape
    groups = triton.cdiv(cols, GROUP)
    padded = torch.nn.functional.pad(x.float(), (0, groups * GROUP - cols)).view(rows, groups, GROUP)
    top = padded.abs().amax(-1).clamp(min=1e-10)
    scales = top / torch.full_like(top, 448)  # on a GPU, torch multiplies by 1/448 when 448 is a plain number
    q = (padded / scales[..., None]).to(torch.float8_e4m3fn)
    return q.view(rows, -1)[:, :cols].contiguous(), scales


def scaled(x, scales):
    """The numbers before their rounding to fp8, in double precision."""
    return x.double() / scales.double().repeat_interleave(GROUP, dim=1)[:, : x.shape[1]]


def check():
    import torch

    device = common.device()
    for rows, cols in common.sizes(gpu=SIZES, cpu=((3, 127), (77, 1000))):
        x = torch.randn(rows, cols, device=device) * torch.logspace(-6, 3, rows, device=device)[:, None]
        x[rows // 2, : cols // 2] = 0
        x[-1, -1] = -0.0
        x = x.bfloat16()
        compiled, q, scales = launch(x)
        wanted_q, wanted_scales = reference(x)
        what = f"{rows} × {cols}"
        yield compiled, common.compare(f"scales,  {what}", scales, wanted_scales)
        yield compiled, common.compare(f"bytes,   {what}", q.view(torch.uint8), wanted_q.view(torch.uint8))
        # And in double precision: fp8 has 4 significant bits, and steps of 2**-9 near zero.
        exact = scaled(x, scales)
        yield compiled, common.compare(f"numbers, {what}", q, exact, relative=2**-4, absolute=2**-10)


if __name__ == "__main__":
    sys.exit(common.main("05 fp8 quantisation by groups of 128", compile_for, check))
