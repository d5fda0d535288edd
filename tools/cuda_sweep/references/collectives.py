"""Kernels of flashinfer in which several GPUs meet, as one of them sees it: what comes from the others has come."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuda_sweep.launches import Buffer, _cast
from cuda_sweep.references import Given, reference
from cuda_sweep.references.normalisations import scaled_rows

PACKAGE = "flashinfer_python"


@reference(PACKAGE, "kernel_flashinfer_mnnvl_moe_alltoall_dispatch")
def _(g: Given) -> Any:
    """GPU 2 of 8 sends each token to the GPUs of its experts, once to each; every GPU gets one token."""
    space = g[7].astype(np.int32).reshape(8, g.W).copy()
    targets = g[0].reshape(g.T, g.K) // 8
    again = np.array([[k > 0 and target in row[:k] for k, target in enumerate(row)] for row in targets])
    own = space[2]
    own[1] = g.T
    own[8:16] = 1
    own[32 : 32 + g.T * g.K] = np.where(again, -1, targets).reshape(-1)
    own[32 + g.T * g.K : 32 + 2 * g.T * g.K] = np.where(again, -1, 0).reshape(-1)
    space[:, 16 + 2] = 1
    space[:, 24 + 2] = 7
    data = space.view(np.uint8)
    begin = 512 + 8 * g.T * g.K
    for payload, size in ((g[1], g.P), (g[2], g.Q)):
        for token, target in zip(*np.nonzero(targets[:, :, None] == np.arange(8))[::2]):
            place = begin + 2 * g.T * size  # behind the room of GPUs 0 and 1
            data[target, place : place + size] = payload.reshape(g.T, size)[token]
        begin += 8 * g.T * size
    return {7: space}


@reference(PACKAGE, "computeCountAndIndiceDevice")
def _(g: Given) -> Any:
    """Token t goes to GPU t+1; of those from which tokens come GPU r sends 3r+1."""
    counts = np.array([1, *(3 * r + 1 for r in range(1, g.R))])
    sent, back, received = (np.full((g.R, 16), -1) for _ in range(3))
    for token in range(g.R):
        target = (token + 1) % g.R
        sent[target, 0], back[target, 0] = token, 8 * token
    for source, count in enumerate(counts):
        received[source, :count] = np.arange(count)
    space = np.zeros_like(g[6]["workspacePtr"])
    mailboxes = space[g.F * g.R :].reshape(g.R, g.R, 32)
    mailboxes[0, 1:, 2] = 2  # one more than the count; what was read is reset
    return {1: np.ones(g.R), 2: counts, 3: sent, 4: back, 5: received, (6, "workspacePtr"): space}


@reference(PACKAGE, "copy_engine_retire_kernel")
def _(g: Given) -> Any:
    signals = [signal.copy() for signal in g[0]["signal_ptrs"]]
    signals[3][11] = 6
    for rank in {*range(8)} - {3}:
        signals[rank][16 + 4 * 3 + 3] = 6
    return {(0, "signal_ptrs", rank): signal for rank, signal in enumerate(signals)}


@reference(PACKAGE, "recursive_doubling_kernel")
def _(g: Given) -> Any:
    """GPU 0 of four gives its own part to GPU 2, and that and what came from there to GPU 1."""
    p = g[0]
    own = p["staging0_ptrs"][0].reshape(4, -1).copy()
    own[0] = p["input"]
    staging = {1: np.zeros_like(own), 2: np.zeros_like(own)}
    staging[2][0] = own[0]
    staging[1][[0, 2]] = own[[0, 2]]
    signals = [signal.copy() for signal in p["signal_ptrs"]]
    counters = signals[0][: 4 * g.G].reshape(g.G, 4)
    counters[:, 1:3] = 1
    signals[0][260 * g.G] = 1
    for peer in (1, 2):
        flags = signals[peer][4 * g.G : 260 * g.G].reshape(2, g.G, 4, 32)
        flags[1, :, 0, 0] = 1
    return {
        (0, "output"): own,
        (0, "staging0_ptrs", 0): own,
        **{(0, "staging0_ptrs", peer): array for peer, array in staging.items()},
        **{(0, "signal_ptrs", rank): signals[rank] for rank in (0, 1, 2)},
    }


def _sum_of_halves(*terms: np.ndarray) -> np.ndarray:
    """In order, each sum rounded."""
    total = np.zeros_like(terms[0])
    for term in terms:
        total = (total + term).astype(np.float16).astype(np.float64)
    return total


def _flags(given: list[np.ndarray], blocks: int) -> dict[int, np.ndarray]:
    """GPU 1 of four tells each other's blocks, in the part of the odd flags."""
    arrays = {}
    for rank in {*range(4)} - {1}:
        arrays[rank] = given[rank].copy()
        arrays[rank][4 * (blocks + 1) :][4 : 4 + 4 * blocks].reshape(blocks, 4)[:, 1] = 1
    return arrays


@reference(PACKAGE, "one_shot_all_reduce_norm_kernel")
def _(g: Given) -> Any:
    p = g[0]
    parts = [*p["peer_comm_buffer_ptrs"]]
    parts[1] = p["local_input_buffer_ptr"]
    total = _sum_of_halves(*(parts[(1 + i) % 4] for i in range(4)), p["residual_buffer"])
    return {
        (0, "peer_comm_buffer_ptrs", 1): parts[1],
        (0, "intermediate_buffer"): total,
        (0, "local_output_buffer_ptr"): scaled_rows(total.reshape(g.T, g.H), 1e-5) * p["weight_buffer"],
        **{(0, "peer_barrier_ptrs_in", r): a for r, a in _flags(p["peer_barrier_ptrs_in"], g.T).items()},
    }


@reference(PACKAGE, "rms_norm_kernel")
def _(g: Given) -> Any:
    rows = g[0]["intermediate_buffer"].reshape(g.T, g.H)
    return {(0, "local_output_buffer_ptr"): scaled_rows(rows, 1e-5) * g[0]["weight_buffer"]}


@reference(PACKAGE, "twoShotAllReduceKernel")
def _(g: Given) -> Any:
    """GPU 1 sums its quarter; the others' quarters they have summed."""
    p = g[0]
    parts = [part.reshape(4, -1).copy() for part in p["peer_comm_buffer_ptrs"]]
    parts[1] = p["local_input_buffer_ptr"].reshape(4, -1).copy()
    parts[1][1] = _sum_of_halves(*(part[1] for part in parts))
    made = {(0, "peer_comm_buffer_ptrs", 1): parts[1]}
    made[0, "local_output_buffer_ptr"] = np.stack([parts[rank][rank] for rank in range(4)])
    for name in ("peer_barrier_ptrs_in", "peer_barrier_ptrs_out"):
        made |= {(0, name, rank): array for rank, array in _flags(p[name], g.G).items()}
    return made


@reference(PACKAGE, "twoshotAllreduceKernel")
def _(g: Given) -> Any:
    """Token t is summed by GPU t; GPU 0 sees what the others have broadcast."""
    p = g[0]
    shards = p["shardPtr"].reshape(g.T, g.D)
    buffers = [buffer.copy() for buffer in p["inputPtrs"]]
    for token in range(g.T):
        buffers[token % 8][: g.D] = shards[token]
    own, broadcast = buffers[0], slice(g.B // 4, g.B // 4 + g.T * g.D)
    own[broadcast][: g.D] = own[: 8 * g.D].reshape(8, g.D).sum(0)
    flags = np.array([1, 0, g.B, 2, 8 * g.D * 2, g.T * g.D * 2, 0, 0, 0, 0, 0, 0])
    made = {(0, "inputPtrs", rank): buffers[rank] for rank in range(min(g.T, 8))}
    return {**made, (0, "outputPtr"): own[broadcast], (0, "bufferFlags"): flags}


@reference(PACKAGE, "moeAllToAllKernel")
def _(g: Given) -> Any:
    """One GPU sends to itself, through its mailboxes: vectors change their places."""
    sent, received = g[3], g[4]
    vectors = np.empty((g.N, g.V), np.int64)
    vectors[received["rankLocalIndices"]] = sent["dataPtr"].reshape(g.N, g.V)[sent["rankLocalIndices"]]
    return {(4, "dataPtr"): vectors, (1, "workspacePtr"): None}


@reference(PACKAGE, "FusedKernel")
def _(g: Given) -> Any:
    """GPU 1 of four: parts of an attention are weighted by the softmax of what they tell of their sums."""
    space = g[2].astype(np.uint8).copy()
    words, begin = space[:48].view(np.uint32), 48 + 2 * g.S
    words[0], words[5] = 1, 1
    parts = space[48 : 48 + g.S].view(np.uint16).reshape(g.R, g.T * g.H, g.D)
    sums = space[begin : begin + g.L].view(np.float32).reshape(g.R, g.T * g.H)
    parts[1] = _cast(g[0], "bf16").reshape(g.T * g.H, g.R, g.D)[:, 0]
    sums[1] = g[1].reshape(g.T * g.H, g.R)[:, 0]
    weights = np.exp(sums.astype(np.float64))
    values = Buffer("bf16", parts).floats(parts)
    return {2: space, 11: np.einsum("rn,rnd->nd", weights / weights.sum(0), values)}
