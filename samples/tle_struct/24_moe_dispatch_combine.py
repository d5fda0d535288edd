"""Sample 24: dispatch and combine of a mixture of experts that lie on several GPUs. Simulated on the CPU.

``dispatch`` sends each token to the GPUs of its experts, straight into the rows that it has there: a GPU has CAPACITY
rows on every other one, and takes the next free one by an atomic of its own. ``combine`` reads what the experts made of
them there, and adds it with the tokens' weights, in the order of their choices: results have the same bits in whatever
order rows were taken.
"""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw.language as tle
from tle_raw.distributed import device_mesh

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common
import devices


@triton.jit
def dispatch(
    context, x_ptr, choice_ptr, next_ptr, row_ptr, there_ptr, expert_ptr, tokens, hidden,
    MESH: tl.constexpr, EXPERTS: tl.constexpr, CHOICES: tl.constexpr, CAPACITY: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """A program sends every n-th token.

    x_ptr : [tokens, hidden]; choice_ptr : [tokens, CHOICES], experts; next_ptr : [GPUs], zeros at first.
    row_ptr : [tokens, CHOICES], gets the row that a token has on the GPU of its expert.
    there_ptr : [GPUs * CAPACITY, hidden], in the context's memory: tokens of all GPUs; expert_ptr : [GPUs * CAPACITY],
        there too, their experts; -1 where there is none.
    """
    me = tle.shard_id(MESH, "device", context)
    columns = tl.arange(0, BLOCK)
    tle.distributed_barrier(MESH, context=context)  # the others' rows are free
    for token in range(tl.program_id(0), tokens, tl.num_programs(0)):
        x = tl.load(x_ptr + token.to(tl.int64) * hidden + columns, mask=columns < hidden)
        for choice in range(CHOICES):
            expert = tl.load(choice_ptr + token * CHOICES + choice)
            owner = expert // (EXPERTS // MESH.size)
            row = me * CAPACITY + tl.atomic_add(next_ptr + owner, 1, sem="relaxed")
            tl.store(row_ptr + token * CHOICES + choice, row)
            tle.put(there_ptr + row.to(tl.int64) * hidden + columns, x, owner, context, mask=columns < hidden)
            tle.put(expert_ptr + row, expert, owner, context)
    tle.distributed_barrier(MESH, context=context)


@triton.jit
def apply_experts(x_ptr, expert_ptr, scale_ptr, y_ptr, rows, hidden, BLOCK: tl.constexpr):
    """``y = max(x * scale[expert], 0)`` for the rows that have an expert: what stands here for its layers."""
    columns = tl.arange(0, BLOCK)
    inside = columns < hidden
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        expert = tl.load(expert_ptr + row)
        if expert >= 0:
            place = row.to(tl.int64) * hidden + columns
            scale = tl.load(scale_ptr + expert * hidden + columns, mask=inside)
            y = tl.load(x_ptr + place, mask=inside).to(tl.float32) * scale
            tl.store(y_ptr + place, tl.maximum(y, 0).to(y_ptr.dtype.element_ty), mask=inside)


@triton.jit
def combine(
    context, y_ptr, choice_ptr, row_ptr, weight_ptr, out_ptr, tokens, hidden,
    MESH: tl.constexpr, EXPERTS: tl.constexpr, CHOICES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """``out[token] = sum of weight * y`` over the experts of a token; y_ptr is in the context's memory."""
    columns = tl.arange(0, BLOCK)
    inside = columns < hidden
    tle.distributed_barrier(MESH, context=context)  # all experts are done
    for token in range(tl.program_id(0), tokens, tl.num_programs(0)):
        total = tl.zeros([BLOCK], tl.float32)
        for choice in range(CHOICES):
            at = token * CHOICES + choice
            owner = tl.load(choice_ptr + at) // (EXPERTS // MESH.size)
            place = tl.load(row_ptr + at).to(tl.int64) * hidden + columns
            y = tle.get(y_ptr + place, owner, context, mask=inside)
            total += tl.load(weight_ptr + at) * tl.where(inside, y.to(tl.float32), 0)
        tl.store(out_ptr + token.to(tl.int64) * hidden + columns, total.to(out_ptr.dtype.element_ty), mask=inside)
    tle.distributed_barrier(MESH, context=context)  # the next dispatch may overwrite the rows


def compile_for(target):
    constants = {"MESH": device_mesh({"device": 2}), "EXPERTS": 64, "CHOICES": 8, "BLOCK": 4096}
    integers = {"tokens": "i32", "hidden": "i32:16"}
    shared = {"context": "*i64", "choice_ptr": "*i32", "row_ptr": "*i32"}
    sent = {"x_ptr": "*bf16", "next_ptr": "*i32", "there_ptr": "*bf16", "expert_ptr": "*i32"}
    back = {"y_ptr": "*bf16", "weight_ptr": "*fp32", "out_ptr": "*bf16"}

    def ordered(kernel, types):
        return {name: types[name] for name in kernel.arg_names if name in types}

    return [
        common.compile_ahead(
            dispatch, target, ordered(dispatch, shared | sent | integers), constants | {"CAPACITY": 4096}
        ),
        common.compile_ahead(combine, target, ordered(combine, shared | back | integers), constants),
    ]


def check():
    gpu = ((1000, 2048, 64, 8, 2), (333, 7168, 256, 8, 2))
    for sizes in common.sizes(gpu=gpu, cpu=((13, 40, 8, 2, 2), (20, 33, 16, 4, 4))):
        yield from check_size(*sizes)


def check_size(tokens: int, hidden: int, experts: int, choices: int, world: int):
    import torch

    rows = world * tokens * choices
    group = devices.Devices(world, 2 * (2 * rows * hidden) + 4 * rows + (1 << 16))
    world, capacity = group.world, tokens * choices
    rows, block = world * capacity, triton.next_power_of_2(hidden)
    x = [torch.randn(tokens, hidden).bfloat16() for _ in range(world)]
    chosen = [torch.rand(tokens, experts).topk(choices).indices.int() for _ in range(world)]
    weights = [torch.rand(tokens, choices) for _ in range(world)]
    scale = torch.randn(experts, hidden)
    there, made = (group.empty((rows, hidden), torch.bfloat16) for _ in range(2))
    owner = group.empty((rows,), torch.int32)
    mesh, programs = device_mesh({"device": world}), common.sizes(gpu=(128,), cpu=(3,))[0]
    options = {"MESH": mesh, "EXPERTS": experts, "CHOICES": choices, "BLOCK": block}
    own = [
        group.each(lambda rank, _, of=of: of[rank].to(group.name(rank)))
        for of in (x, chosen, weights, [scale] * world, [torch.zeros(world, dtype=torch.int32)] * world)
    ]
    places = group.each(lambda rank, _: torch.empty(tokens, choices, dtype=torch.int32, device=group.name(rank)))
    outs = group.each(lambda rank, _: torch.full_like(own[0][rank], float("nan")))

    def send(rank: int, context):
        owner[rank].fill_(-1)
        return dispatch[(programs,)](
            context, own[0][rank], own[1][rank], own[4][rank].clone(), places[rank], there[rank], owner[rank],
            tokens, hidden, CAPACITY=capacity, **options,
        )  # fmt: skip

    def work(rank: int, context):
        apply_experts[(programs,)](there[rank], owner[rank], own[3][rank], made[rank], rows, hidden, BLOCK=block)

    def gather(rank: int, context):
        combine[(programs,)](
            context, made[rank], own[1][rank], places[rank], own[2][rank], outs[rank], tokens, hidden, **options
        )

    for _ in range(2):
        # One kernel on all GPUs after the other: none loads code while a kernel of its own waits for another GPU.
        kernels, *_ = [group.launch(step) for step in (send, work, gather)]
    for rank, out in enumerate(outs):
        each = (x[rank].double()[:, None] * scale.double()[chosen[rank].long()]).clamp(min=0)
        want = (each * weights[rank].double()[..., None]).sum(1)
        what = f"{tokens} tokens × {hidden}, {choices} of {experts}, {rank} of {world}"
        yield kernels[rank], common.compare(what, out.cpu(), want, relative=2**-7, absolute=2**-7 * choices)
    group.close()


if __name__ == "__main__":
    sys.exit(common.main("24 dispatch and combine of a mixture of experts", compile_for, check))
