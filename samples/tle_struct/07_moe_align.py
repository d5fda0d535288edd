"""Sample 07: tokens in the order of their experts, in whole blocks. Counts, starts and places are in shared memory.

Few pairs are placed by clusters of blocks, which tell each other their counts: ``moe_align_in_clusters.cu``, for which
Triton 3.9 and sm_90 are needed.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

# Words from the counters of eight experts to those of the next eight: 32 bytes each, in lines that lie apart, so that
# several parts of the GPU's cache add and answer at once: 16,384 tokens take 5.9 µs on an H200 so, and 6.9 otherwise.
APART = tl.constexpr(64)


@triton.jit
def share_places(expert, count, before, SIZE: tl.constexpr, SLOTS: tl.constexpr):
    """For all threads: where the program's first pair of each expert goes, and behind which place the last one is.

    An expert's ``count`` pairs begin with a block of SIZE. ``before`` of them come before the program's.
    """
    blocks = (count + SIZE - 1) // SIZE
    begin = (tl.cumsum(blocks, 0) - blocks) * SIZE
    bases, ends = tle.gpu.alloc([SLOTS], tl.int32), tle.gpu.alloc([SLOTS], tl.int32)
    tl.store(tle.gpu.local_ptr(bases, (expert,)), begin + before)
    tl.store(tle.gpu.local_ptr(ends, (expert,)), begin + count)
    return bases, ends


@triton.jit
def write_pairs(
    chosen, place, pair, is_pair, ends, sorted_ptr, block_experts_ptr, total_ptr, n,
    EXPERTS: tl.constexpr, SIZE: tl.constexpr, OWN: tl.constexpr,
):  # fmt: skip
    """Write pairs to their places, and for OWN experts what is behind their pairs, up to whole blocks.

    The pair that begins a block says whose it is.
    """
    tl.store(sorted_ptr + place, pair, mask=is_pair)
    tl.store(block_experts_ptr + place // SIZE, chosen, mask=is_pair & (place % SIZE == 0))
    own = tl.program_id(0) * OWN + tl.arange(0, OWN)
    behind = tl.load(tle.gpu.local_ptr(ends, (own,)), mask=own < EXPERTS, other=0)[:, None]
    filled = behind + tl.arange(0, SIZE)[None, :]
    tl.store(sorted_ptr + filled, n, mask=filled < (behind + SIZE - 1) // SIZE * SIZE)
    if tl.program_id(0) == 0:
        last = tl.load(tle.gpu.local_ptr(ends, (EXPERTS - 1,)))
        tl.store(total_ptr, (last + SIZE - 1) // SIZE * SIZE)


@triton.jit
def moe_align(
    experts_ptr, sorted_ptr, block_experts_ptr, total_ptr, n,
    EXPERTS: tl.constexpr, SIZE: tl.constexpr, CHUNK: tl.constexpr, TILE: tl.constexpr, OWN: tl.constexpr,
    COPIES: tl.constexpr, CHAINED: tl.constexpr,
):  # fmt: skip
    """Entry i of ``experts`` is the expert of pair i of tokens and choices.

    ``sorted`` gets the numbers of the pairs, those of one expert together, each expert's filled up with ``n`` to whole
    blocks of SIZE; ``block_experts`` the expert of each block; ``total`` how many entries of ``sorted`` there are.
    Each program counts all pairs, TILE at most, and places CHUNK of them: few pairs are counted in less time than
    programs wait for each other. EXPERTS is a power of two, and OWN such that all programs together have EXPERTS.
    COPIES: threads side by side count in as many banks of shared memory, so that they meet less often.
    CHAINED: it begins while the launch before it may still run, and so may the next one meanwhile.
    """
    number, expert, lane = tl.program_id(0), tl.arange(0, EXPERTS), tl.arange(0, CHUNK)
    # Of the pairs before the program's own, and of the others; behind them a place for those of no expert.
    counts = tle.gpu.alloc([4 * EXPERTS * COPIES], tl.int32, init_value=0)
    ranks = tle.gpu.alloc([2 * EXPERTS], tl.int32, init_value=0)
    if CHAINED:
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()
    # Programs begin with chunks of their own: not all read the same lines at once.
    chunk = (tl.arange(0, TILE // CHUNK)[:, None] + number) & (TILE // CHUNK - 1)
    pair = chunk * CHUNK + lane[None, :]
    each = tl.load(experts_ptr + pair, mask=pair < n, other=EXPERTS)
    i = number * CHUNK + lane
    chosen = tl.load(experts_ptr + i, mask=i < n, other=EXPERTS)
    at = ((chunk >= number).to(tl.int32) * EXPERTS + each) * COPIES + (lane // 4 % COPIES)[None, :]
    tl.atomic_add(tle.gpu.local_ptr(counts, (at,)), 1)
    rank = tl.atomic_add(tle.gpu.local_ptr(ranks, (chosen,)), 1)  # among the program's own of its expert
    at = expert[:, None] * COPIES + tl.arange(0, COPIES)[None, :]
    before = tl.sum(tl.load(tle.gpu.local_ptr(counts, (at,))), 1)
    count = before + tl.sum(tl.load(tle.gpu.local_ptr(counts, (at + EXPERTS * COPIES,))), 1)
    bases, ends = share_places(expert, count, before, SIZE, 2 * EXPERTS)
    place = tl.load(tle.gpu.local_ptr(bases, (chosen,)), mask=i < n, other=0) + rank
    write_pairs(chosen, place, i, i < n, ends, sorted_ptr, block_experts_ptr, total_ptr, n, EXPERTS, SIZE, OWN)


@triton.jit
def wait_for(counter, least):
    """What a counter holds when it is no less than that. Each thread waits for its own, and no barrier among them.

    A loop of Triton's would wait for a maximum of all threads at each step; on an H200 4,096 tokens take 0.2 µs longer.
    """
    return tl.inline_asm_elementwise(
        "{.reg .pred less; AGAIN: ld.relaxed.gpu.global.b32 $0, [$1]; setp.lt.s32 less, $0, $2; @less bra AGAIN;}",
        "=&r,l,r", [counter.to(tl.int64), least], dtype=tl.int32, is_pure=False, pack=1,
    )  # fmt: skip


@triton.jit
def align_together(
    experts_ptr, counters_ptr, launches_ptr, sorted_ptr, block_experts_ptr, total_ptr, n,
    EXPERTS: tl.constexpr, SIZE: tl.constexpr, CHUNK: tl.constexpr, OWN: tl.constexpr, WIDE: tl.constexpr,
    IN_ORDER: tl.constexpr, CHAINED: tl.constexpr,
):  # fmt: skip
    """The results of ``moe_align`` by programs that count their own pairs, and wait for each other's counts.

    A cooperative launch: all programs run at once. An expert's counter says how many pairs it has and, from bit 20 on,
    how many programs have added theirs; what it held before is the place of the program's own. ``launches`` counts
    launches: each uses one of two rows of counters, and clears the other. IN_ORDER: while it waits, a program puts its
    pairs in the order of their experts, so that neighbours are stored side by side.
    """
    wide, own_begin = tl.arange(0, WIDE), tl.program_id(0) * CHUNK  # of the former each thread has its own
    is_expert = wide < EXPERTS
    i = own_begin + tl.arange(0, CHUNK)
    if CHAINED:
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()
    number = tl.load(launches_ptr)
    chosen = tl.load(experts_ptr + i, mask=i < n, other=WIDE)
    counts = tle.gpu.alloc([2 * WIDE], tl.int32, init_value=0)
    rank = tl.atomic_add(tle.gpu.local_ptr(counts, (chosen,)), 1)
    own = tl.load(tle.gpu.local_ptr(counts, (wide,)))
    row: tl.constexpr = tl.cdiv(EXPERTS, 8) * APART
    expert = wide % EXPERTS
    at = counters_ptr + expert // 8 * APART + expert % 8
    counter = at + number % 2 * row
    before = tl.atomic_add(counter, own + 2**20, mask=is_expert, sem="relaxed") & (2**20 - 1)
    if IN_ORDER:
        first = tl.cumsum(own, 0) - own
        firsts, pairs = tle.gpu.alloc([2 * WIDE], tl.int32), tle.gpu.alloc([CHUNK], tl.int32)
        tl.store(tle.gpu.local_ptr(firsts, (wide,)), first)
        place = tl.load(tle.gpu.local_ptr(firsts, (chosen,)), mask=i < n, other=0) + rank
        tl.store(tle.gpu.local_ptr(pairs, (place,)), chosen * CHUNK + tl.arange(0, CHUNK), mask=i < n)
        before -= first
    seen = wait_for(counter, tl.where(is_expert, tl.num_programs(0) * 2**20, 0))
    if tl.program_id(0) == 0:
        tl.debug_barrier()  # all counters are complete: every thread that adds has read the number of the launch
        tl.store(at + (number + 1) % 2 * row, 0, mask=is_expert)
        tl.store(launches_ptr, number + 1)
    count = tl.where(is_expert, seen & (2**20 - 1), 0)
    bases, ends = share_places(wide, count, before, SIZE, 2 * WIDE)
    if IN_ORDER:
        # Neighbours swapped: a thread that loaded some that lie together would pass them on before they are stored.
        # As a block of two dimensions, for which Triton 3.6 chooses threads without a look at those of the atomics.
        lane = tl.arange(0, CHUNK)[:, None] ^ 1
        is_pair = own_begin + lane < n
        pair = tl.load(tle.gpu.local_ptr(pairs, (lane,)), mask=is_pair, other=0)
        of_pair = pair // CHUNK
        place_ = tl.load(tle.gpu.local_ptr(bases, (of_pair,))) + lane
        write_pairs(
            of_pair, place_, own_begin + pair % CHUNK, is_pair, ends, sorted_ptr, block_experts_ptr, total_ptr,
            n, EXPERTS, SIZE, OWN,
        )  # fmt: skip
    else:
        place = tl.load(tle.gpu.local_ptr(bases, (chosen,)), mask=i < n, other=0) + rank
        write_pairs(chosen, place, i, i < n, ends, sorted_ptr, block_experts_ptr, total_ptr, n, EXPERTS, SIZE, OWN)


@triton.jit
def count_chunks(
    experts_ptr, counters_ptr, n,
    EXPERTS: tl.constexpr, CHUNK: tl.constexpr, DEPENDENT: tl.constexpr, CHAINED: tl.constexpr,
):  # fmt: skip
    """``counters``: how many pairs each expert has. ``place_chunks`` places them, of any number of programs.

    The rows of ``counters``, an entry for each expert, count on from launch to launch: pairs that were counted, pairs
    that were placed; and how many there were when this launch began, and when the next one will.
    DEPENDENT: the next launch may begin meanwhile. CHAINED: this one begins while the one before it may still run.
    """
    if CHAINED:
        tl.extra.cuda.gdc_wait()
    if DEPENDENT:  # not before the wait: the next one reads ``experts`` at once
        tl.extra.cuda.gdc_launch_dependents()
    expert, i = tl.arange(0, EXPERTS), tl.program_id(0) * CHUNK + tl.arange(0, CHUNK)
    chosen = tl.load(experts_ptr + i, mask=i < n, other=EXPERTS)
    counts = tle.gpu.alloc([2 * EXPERTS], tl.int32, init_value=0)
    tl.atomic_add(tle.gpu.local_ptr(counts, (chosen,)), 1)
    count = tl.load(tle.gpu.local_ptr(counts, (expert,)))
    tl.atomic_add(counters_ptr + expert, count, mask=count > 0, sem="relaxed")
    if tl.program_id(0) == 0:
        tl.store(counters_ptr + 2 * EXPERTS + expert, tl.load(counters_ptr + 3 * EXPERTS + expert))


@triton.jit
def place_chunks(
    experts_ptr, counters_ptr, sorted_ptr, block_experts_ptr, total_ptr, n,
    EXPERTS: tl.constexpr, SIZE: tl.constexpr, CHUNK: tl.constexpr, OWN: tl.constexpr, WIDE: tl.constexpr,
    DEPENDENT: tl.constexpr, CHAINED: tl.constexpr,
):  # fmt: skip
    """The results of ``moe_align`` behind ``count_chunks``.

    What needs no counts of others is done before the wait for them. CHAINED: the next launch may begin meanwhile.
    """
    if CHAINED:
        tl.extra.cuda.gdc_launch_dependents()
    i = tl.program_id(0) * CHUNK + tl.arange(0, CHUNK)
    wide = tl.arange(0, WIDE)  # one for each thread: none adds what another has added
    is_expert = wide < EXPERTS
    chosen = tl.load(experts_ptr + i, mask=i < n, other=WIDE)
    counts = tle.gpu.alloc([2 * WIDE], tl.int32, init_value=0)
    rank = tl.atomic_add(tle.gpu.local_ptr(counts, (chosen,)), 1)
    own = tl.load(tle.gpu.local_ptr(counts, (wide,)))
    if DEPENDENT:
        tl.extra.cuda.gdc_wait()
    before = tl.atomic_add(counters_ptr + EXPERTS + wide, own, mask=is_expert & (own > 0), sem="relaxed")
    begin = tl.load(counters_ptr + 2 * EXPERTS + wide, mask=is_expert, other=0)
    all_ = tl.load(counters_ptr + wide, mask=is_expert, other=0)
    if tl.program_id(0) == 0:
        tl.store(counters_ptr + 3 * EXPERTS + wide, all_, mask=is_expert)
    bases, ends = share_places(wide, all_ - begin, before - begin, SIZE, 2 * WIDE)
    place = tl.load(tle.gpu.local_ptr(bases, (chosen,)), mask=i < n, other=0) + rank
    write_pairs(chosen, place, i, i < n, ends, sorted_ptr, block_experts_ptr, total_ptr, n, EXPERTS, SIZE, OWN)


IN_CLUSTERS = Path(__file__).with_name("moe_align_in_clusters.cu")
# Blocks of a cluster, clusters, threads of a block: what is the fastest on an H200.
CLUSTER, CLUSTERS, THREADS = 8, 8, 256
MOST_IN_CLUSTERS = CLUSTER * THREADS * 4 * 4


@functools.cache
def in_clusters(width, size, vectors, chained, watched=False):
    """The CUDA kernel for ``width`` experts; ``vectors`` of four pairs for each thread of a cluster.

    ``watched``: a form whose order compute-sanitizer's racecheck follows.
    """
    flags = (str(flag).lower() for flag in (chained, watched))
    constants = width, size, CLUSTER, CLUSTERS, THREADS, vectors, *flags
    symbol = f"align_in_clusters<{', '.join(map(str, constants))}>"
    fragment = tle_raw.fragment(IN_CLUSTERS, dialect="cuda", symbol=symbol)
    return fragment.as_kernel(block=THREADS, cluster=CLUSTER)


def knows_clusters():
    return tuple(map(int, triton.__version__.split(".")[:2])) >= (3, 9)


def has_clusters():
    return knows_clusters() and not common.on_cpu() and has_dependent_launches()


def results(experts, count, size):
    """Places for the sorted pairs, the experts of the blocks and the total, as many as there can be."""
    import torch

    n = experts.numel()
    blocks = n // size + min(n, count)
    entries = blocks * size, blocks, 1
    return [torch.full((length,), -1, dtype=torch.int32, device=experts.device) for length in entries]


def workspace(experts, count):
    """Counters of two launches, of one whose programs wait for each other, and how many such launches there were."""
    import torch

    width = triton.next_power_of_2(count)
    lengths = 4 * width, 2 * triton.cdiv(width, 8) * APART.value, 1
    return [torch.zeros(length, dtype=torch.int32, device=experts.device) for length in lengths]


def fastest(n):
    """CHUNK, warps and the way to place ``n`` pairs: what is the fastest on an H200."""
    if n <= 8192:
        return 256, 8, "clusters" if has_clusters() else "each"
    for chunk in (1024, 2048, 4096):
        if n <= 64 * chunk and not common.on_cpu():
            return chunk, 8, "together"
    return (4096, 8, "together") if n <= 128 * 4096 and not common.on_cpu() else (2048, 32, "two")


def launch(
    experts, count, size, chunk=None, warps=None, way=None, copies=2, out=None, space=None, dependent=None,
    chained=False,
):  # fmt: skip
    """A program for each ``chunk`` of pairs.

    ``way``: each program counts all of up to 32,768 pairs ("each"), in ``copies`` of its counts; or clusters do, whose
    blocks count a part each ("clusters"), whatever ``chunk`` and ``warps`` are; or programs wait for each other's
    counts ("together"), on a GPU, less than 2 ** 20 pairs by no more programs than it runs at once; or two launches
    ("two"). Without it the fastest one is chosen.
    ``dependent``: the second launch begins before the first has ended, as GPUs do from Hopper on. ``chained``: the
    first does so too, behind whatever is launched before.
    """
    n = experts.numel()
    out = out or results(experts, count, size)
    chunk, warps, way = (given or one for given, one in zip((chunk, warps, way), fastest(n)))
    programs, width = triton.cdiv(n, chunk), triton.next_power_of_2(count)
    sizes = {"EXPERTS": width, "CHUNK": chunk, "CHAINED": chained, "num_warps": warps}
    more = {"SIZE": size, "OWN": triton.next_power_of_2(triton.cdiv(width, programs))}
    early = {"launch_pdl": True}
    chain = early if chained else {}
    if n > {"each": 2**15, "clusters": MOST_IN_CLUSTERS, "together": 2**20 - 1, "two": n}[way]:
        raise ValueError(f"{n} pairs are too many for the way {way!r}")
    if way == "clusters":
        vectors = triton.next_power_of_2(triton.cdiv(n, CLUSTER * THREADS * 4))
        kernel = in_clusters(max(8, width), size, vectors, chained, tle_raw.knobs.racecheck)
        return kernel[(CLUSTER * CLUSTERS,)](experts, *out, n, **chain), *out
    if way == "each":
        more |= {"TILE": max(chunk, triton.next_power_of_2(n)), "COPIES": copies}
        return moe_align[(programs,)](experts, *out, n, **more, **sizes, **chain), *out
    added, counters, launches = workspace(experts, count) if space is None else space
    more["WIDE"] = max(width, 32 * warps)
    if way == "together":
        more |= {"IN_ORDER": chunk > 32 * warps, "launch_cooperative_grid": True}
        return align_together[(programs,)](experts, counters, launches, *out, n, **more, **sizes, **chain), *out
    sizes["DEPENDENT"] = has_dependent_launches() if dependent is None else dependent
    count_chunks[(programs,)](experts, added, n, **sizes, **chain)
    early = early if sizes["DEPENDENT"] else {}
    return place_chunks[(programs,)](experts, added, *out, n, **more, **sizes, **early), *out


def has_dependent_launches():
    target = triton.runtime.driver.active.get_current_target()
    return target.backend == "cuda" and target.arch >= 90


def compile_for(target):
    pointers = ("experts_ptr", "sorted_ptr", "block_experts_ptr", "total_ptr", "counters_ptr", "launches_ptr")
    types = dict.fromkeys(pointers, "*i32") | {"n": "i32:16"}
    sizes = {"EXPERTS": 256, "SIZE": 64, "CHUNK": 256, "OWN": 8, "TILE": 8192, "COPIES": 2, "WIDE": 256}
    sizes |= {"IN_ORDER": False, "CHAINED": False, "DEPENDENT": target in ("cuda:90", "cuda:100")}
    in_order = {"CHUNK": 1024, "IN_ORDER": True}
    for kernel, more in (moe_align, {}), (align_together, in_order), (count_chunks, {}), (place_chunks, {}):
        own_types, own_sizes = (
            {name: taken[name] for name in kernel.arg_names if name in taken} for taken in (types, sizes | more)
        )
        yield common.compile_ahead(kernel, target, own_types, own_sizes, num_warps=8)
    if knows_clusters() and target in ("cuda:90", "cuda:100"):
        yield in_clusters(256, 64, 1, True).compile(target, launch_pdl=True)


def check():
    import torch

    cases = common.sizes(
        gpu=((1, 8, 8, 16), (1024, 8, 64, 64), (4099, 8, 256, 64), (8192, 8, 256, 128), (16_384, 2, 8, 32)),
        cpu=((37, 2, 8, 16), (300, 2, 8, 16)),
    )
    forms = [(chunk, {"way": way}) for way in ("each", "two") for chunk in (1024, 256)]
    if not common.on_cpu():
        forms += [(chunk, {"way": "together"}) for chunk in (1024, 256)]
    if has_dependent_launches():
        forms += [(512, {"way": way, "chained": True}) for way in ("each", "two", "together")]
    if has_clusters():
        forms += [(None, {"way": "clusters", "chained": chained}) for chained in (False, True)]
    for tokens, choices, count, size in cases:
        experts = torch.rand(tokens, count).topk(choices).indices.to(torch.int32).reshape(-1).to(common.device())
        space = workspace(experts, count)
        for chunk, form in forms:
            if form["way"] in ("each", "clusters") and experts.numel() > 2**15:
                continue
            kernel, order, of_blocks, total = launch(experts, count, size, chunk, 8, space=space, **form)
            said = ", ".join(f"{name} {value}" for name, value in form.items())
            programs = f"{chunk} a program, " if chunk else ""
            what = f"{tokens} × {choices} of {count}, blocks of {size}, {programs}{said}"
            yield from ((kernel, found) for found in wrong(what, experts, count, size, order, of_blocks, total))


def wrong(what, experts, count, size, order, of_blocks, total):
    """The results against what they are to be; pairs of one expert have no order."""
    import torch

    per_expert = torch.bincount(experts, minlength=count)
    blocks = (per_expert + size - 1) // size
    want = torch.repeat_interleave(torch.arange(count, device=experts.device), blocks)
    yield common.compare(f"{what}: total", total, (blocks.sum() * size)[None])
    yield common.compare(f"{what}: experts", of_blocks[: want.numel()], want)
    entries = order[: want.numel() * size].long()
    pairs = entries[entries < experts.numel()]
    every = torch.arange(experts.numel(), device=experts.device)
    yield common.compare(f"{what}: each pair once", pairs.sort().values, every)
    of_entries = torch.cat([experts, experts.new_full((1,), -1)])[entries].reshape(-1, size)
    strange = (of_entries != want[:, None]) & (of_entries >= 0)
    yield common.compare(f"{what}: in order", strange.sum()[None], torch.zeros(1, device=experts.device))


if __name__ == "__main__":
    sys.exit(common.main("07 tokens in the order of their experts", compile_for, check))
