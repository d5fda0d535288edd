"""The kernel for products of experts that vLLM ships, and how it launches that: from a copy of its folder.

The folder is vLLM's ``model_executor/layers/fused_moe``, with ``fused_moe.py`` and ``configs``. Nothing of it is kept
here, and no other part of vLLM is imported: its kernel and its default sizes are taken out of the file as they stand.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import measure
import torch
import triton
import triton.language as tl

_HEAD = """import triton
import triton.language as tl


class envs:
    VLLM_BATCH_INVARIANT = False


class current_platform:
    is_rocm = staticmethod(lambda: False)
"""
_TAKEN = ("write_zeros_to_output", "fused_moe_kernel", "get_default_config")
_NOT_USED = dict.fromkeys(("b_bias_ptr", "a_scale_ptr", "b_scale_ptr", "topk_weights_ptr"))
_STRIDES = "stride_asm", "stride_ask", "stride_bse", "stride_bsk", "stride_bsn", "stride_bbe", "stride_bbn"
_ZERO = dict.fromkeys(("group_n", "group_k", *_STRIDES), 0)
_PLAIN = dict.fromkeys(
    ("naive_block_assignment", "MUL_ROUTED_WEIGHT", "use_fp8_w8a8", "use_int8_w8a8", "use_int8_w8a16"), False
) | dict.fromkeys(("per_channel_quant", "HAS_BIAS", "SWAP_AB", "USE_TD"), False)


class Fused:
    """Of vLLM, in a folder: for bf16, or with ``fp8`` for fp8 with scales for 128 numbers."""

    def __init__(self, folder: Path, fp8: bool = False) -> None:
        kind = ",dtype=fp8_w8a8,block_shape=[[]128,128[]]" if fp8 else ""  # a bracket means a set of letters
        self.tables = dict(map(_table, sorted((folder / "configs").glob(f"*,device_name=NVIDIA_H200{kind}.json"))))
        self.kind = ("fp8_w8a8", [128, 128]) if fp8 else (None,)
        text = (folder / "fused_moe.py").read_text()
        found = {each.name: each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)}
        missing = [name for name in _TAKEN if name not in found]
        if missing:
            raise SystemExit(f"{folder / 'fused_moe.py'} has no {', '.join(missing)}: vLLM 0.33 has all of them")
        lines = text.splitlines(keepends=True)
        parts = []
        for name in _TAKEN:
            first = min([found[name].lineno, *(each.lineno for each in found[name].decorator_list)])
            parts.append("".join(lines[first - 1 : found[name].end_lineno]))
        self._kept = tempfile.TemporaryDirectory()  # Triton reads a kernel's source from its file
        file = Path(self._kept.name) / "vllm_fused_moe.py"
        file.write_text("\n\n".join([_HEAD, *parts]))
        given = importlib.util.spec_from_file_location(file.stem, file)
        assert given is not None and given.loader is not None
        self.module = importlib.util.module_from_spec(given)
        given.loader.exec_module(self.module)
        known = self.module.fused_moe_kernel.arg_names
        self.fixed = {name: value for name, value in (_NOT_USED | _ZERO | _PLAIN).items() if name in known}

    def configs(self, experts: int, width: int, hidden: int, choices: int, tokens: int) -> dict[str, dict[str, int]]:
        """What vLLM chooses on an H200, and beside it what else it may be thought to: by what each is.

        ``width`` is that of an expert between its two products. vLLM takes the sizes tuned for the nearest number of
        tokens, or default ones where it has none for these experts. What it has for one step more and fewer tokens goes
        along, and where it has no table of these experts those of the two that are most like them.
        """
        named = {"vLLM's default": self.module.get_default_config(tokens, experts, width, hidden, choices, *self.kind)}
        wanted = experts, width
        for found in sorted(self.tables, key=lambda each: _distance(each, wanted))[: 1 if wanted in self.tables else 2]:
            of = "" if found == wanted else " of {} experts of {}".format(*found)
            table = self.tables[found]
            steps = sorted(table)
            place = steps.index(min(steps, key=lambda size: abs(size - tokens)))
            named |= {f"vLLM's for {size} tokens{of}": table[size] for size in steps[max(place - 1, 0) : place + 2]}
        return {name: c for place, (name, c) in enumerate(named.items()) if c not in list(named.values())[:place]}

    def launch(self, case: Any, config: dict[str, int]) -> measure.Launch:
        """The products of a ``struct_grouped.Grouped``, whose pairs were aligned before."""
        config = dict(config)
        size = config["BLOCK_SIZE_M"]
        aligned, blocks, count = aligned_by(size, case)
        tokens, most = case.x[0].shape[0], aligned.numel()
        if tokens < size:
            most = min(most, case.y.shape[0] * size)
        config["SPLIT_K"] = 1
        if self.kind[0] is not None:
            config["SWAP_AB"] = size < 64 <= config["BLOCK_SIZE_N"]
            config["BLOCK_SIZE_K"] = min(config["BLOCK_SIZE_K"], 128)
        n, k = case.w[0].shape[1:]
        grid = (triton.cdiv(most, size) * triton.cdiv(n, config["BLOCK_SIZE_N"]),)

        given = [self.fixed | case.vllm_scales(i) | config for i in range(len(case.x))]

        def launch(i: int) -> object:
            x, w, y = case.x[i], case.w[i], case.y
            return self.module.fused_moe_kernel[grid](
                a_ptr=x, b_ptr=w, c_ptr=y, sorted_token_ids_ptr=aligned, expert_ids_ptr=blocks,
                num_tokens_post_padded_ptr=count, N=n, K=k, EM=most, num_valid_tokens=y.shape[0],
                stride_am=x.stride(0), stride_ak=x.stride(1), stride_be=w.stride(0), stride_bk=w.stride(2),
                stride_bn=w.stride(1), stride_cm=y.stride(0), stride_cn=y.stride(1),
                top_k=case.choices, compute_type=tl.bfloat16, **given[i],
            )  # fmt: skip

        return launch


def _table(file: Path) -> tuple[tuple[int, int], dict[int, dict[str, int]]]:
    """Of how many experts of which width it is, and the sizes by the number of tokens."""
    experts, width = (int(part.partition("=")[2]) for part in file.name.split(",")[:2])
    text = json.loads(file.read_text())
    return (experts, width), {int(size): config for size, config in text.items() if size.isdigit()}


def _distance(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    return sum(abs(math.log(a / b)) for a, b in zip(one, other))


def aligned_by(size: int, case: Any) -> tuple[Any, Any, Any]:
    """What vLLM's ``moe_align_block_size`` returns: the pairs, filled up to whole blocks with one more than there are,
    the expert of each block, and how many places are filled. The arrays are as long as they may have to be."""
    pairs, experts = case.padded(size)
    total, count = case.y.shape[0], case.sizes.experts
    most = total + count * (size - 1)
    if total < count:
        most = min(total * size, most)
    aligned = torch.full((max(most, pairs.numel()),), total, dtype=torch.int32, device=pairs.device)
    aligned[: pairs.numel()] = torch.where(pairs >= 0, pairs, total)
    blocks = torch.zeros(triton.cdiv(aligned.numel(), size), dtype=torch.int32, device=pairs.device)
    blocks[: experts.numel()] = experts
    return aligned, blocks, torch.tensor([pairs.numel()], dtype=torch.int32, device=pairs.device)
