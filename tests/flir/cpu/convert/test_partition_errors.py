"""What goes wrong in partitions of specialised warps on the CPU: who waits, and which phases ran ahead, with lines."""

import re
from pathlib import Path

import pytest

pytest.importorskip("torch_mlir.ir")
pytest.importorskip("torch")

import torch
import triton
import triton.language as tl

import tle_raw.language as tle
from tle_raw.errors import KernelFailed
from tle_raw.flir.cpu.convert import stacks, turns
from tle_raw.knobs import knobs

pytestmark = pytest.mark.every_triton(3)


def line_of(mark):
    return next(n for n, line in enumerate(Path(__file__).read_text().splitlines(), 1) if line.endswith(f"# {mark}"))


def failure_of(kernel, *arguments, debug=False, **options):
    """The error of a launch. Afterwards the same threads run a kernel as if nothing had been."""
    with knobs.scope(), pytest.raises(KernelFailed) as caught:
        knobs.debug = debug
        kernel(*arguments, **options)
    out = torch.zeros(40)
    numbered[(40,)](out)
    assert out.tolist() == [float(n) for n in range(40)]
    return caught.value


def who_waits(error):
    """Of each partition that waits the line, and what its barrier misses."""
    pattern = r"waits at .*test_partition_errors.py:(\d+): (-?\d+) arrivals missing, (-?\d+) bytes missing"
    found = {row.what: re.fullmatch(pattern, row.got) for row in error.table}
    return {who: tuple(map(int, match.groups())) for who, match in found.items()}


@triton.jit
def leave(bars, n):
    tle.gpu.barrier_arrive(bars[n], 1, 0)


@triton.jit
def numbered(out):
    bars = tle.gpu.alloc_barriers(2)
    tle.gpu.warp_specialize([(leave, (bars, 0)), (leave, (bars, 1))], [1])
    tle.gpu.barrier_wait(bars[0], 0)
    tle.gpu.barrier_wait(bars[1], 0)
    tl.store(out + tl.program_id(0), tl.program_id(0))


@triton.jit
def before(mine, other):
    tle.gpu.barrier_wait(mine, 0)  # before
    tle.gpu.barrier_arrive(other, 1, 0)


@triton.jit
def behind(mine, other):
    tle.gpu.barrier_wait(mine, 0)  # behind
    tle.gpu.barrier_arrive(other, 1, 0)


@triton.jit
def done(o):
    tl.store(o, tl.load(o) + 1)


@triton.jit
def crossed(o, one):
    """Two of four partitions wait for what the other does behind its own wait, in one program of all."""
    bars = tle.gpu.alloc_barriers(2, arrive_count=3)
    if tl.program_id(0) != one:
        tle.gpu.barrier_arrive(bars[0], 3, 0)
        tle.gpu.barrier_arrive(bars[1], 2, 0)
    o += tl.program_id(0)
    tle.gpu.warp_specialize(
        [(before, (bars[0], bars[1])), (done, (o,)), (behind, (bars[1], bars[0])), (done, (o,))], [1, 2, 1]
    )


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("programs, one", [(1, 0), (600, 123)])
def test_a_deadlock_names_all_who_wait(debug, programs, one):
    o = torch.zeros(programs)
    error = failure_of(crossed[(programs,)], o, one, debug=debug)
    assert error.kind == "standstill" and error.program == (one, 0, 0)
    assert "all partitions wait for barriers that nobody completes" in str(error) and "`crossed`" in str(error)
    assert who_waits(error) == {
        "the default partition": (line_of("before"), 3, 0),
        "worker 1": (line_of("behind"), 3, 0),
    }
    assert o[one] == 2, "who can go on does"


@triton.jit
def crowded(o):
    """As many partitions as a block can have, each of which waits for the one before; nobody begins."""
    bars = tle.gpu.alloc_barriers(29)
    tle.gpu.warp_specialize(
        [
            (before, (bars[28], bars[0])),
            (behind, (bars[0], bars[1])),
            (behind, (bars[1], bars[2])),
            (behind, (bars[2], bars[3])),
            (behind, (bars[3], bars[4])),
            (behind, (bars[4], bars[5])),
            (behind, (bars[5], bars[6])),
            (behind, (bars[6], bars[7])),
            (behind, (bars[7], bars[8])),
            (behind, (bars[8], bars[9])),
            (behind, (bars[9], bars[10])),
            (behind, (bars[10], bars[11])),
            (behind, (bars[11], bars[12])),
            (behind, (bars[12], bars[13])),
            (behind, (bars[13], bars[14])),
            (behind, (bars[14], bars[15])),
            (behind, (bars[15], bars[16])),
            (behind, (bars[16], bars[17])),
            (behind, (bars[17], bars[18])),
            (behind, (bars[18], bars[19])),
            (behind, (bars[19], bars[20])),
            (behind, (bars[20], bars[21])),
            (behind, (bars[21], bars[22])),
            (behind, (bars[22], bars[23])),
            (behind, (bars[23], bars[24])),
            (behind, (bars[24], bars[25])),
            (behind, (bars[25], bars[26])),
            (behind, (bars[26], bars[27])),
            (behind, (bars[27], bars[28])),
        ],
        [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    )


def test_a_deadlock_of_as_many_partitions_as_there_can_be():
    waiting = who_waits(failure_of(crowded[(2,)], torch.zeros(1)))
    workers = {f"worker {number}": (line_of("behind"), 1, 0) for number in range(28)}
    assert waiting == {"the default partition": (line_of("before"), 1, 0), **workers}


@triton.jit
def waits_at_end(bar):
    tle.gpu.barrier_wait(bar, 0)  # at its end


@triton.jit
def only_a_worker(o, tile_desc, whole):
    bar = tle.gpu.alloc_barrier(expect_bytes=3 * 8 * 32 * 4)
    tiles = tle.gpu.alloc([3, 8, 32], tl.float32)
    tle.gpu.copy(tile_desc, tiles.slot(0), [8, 32], offsets=[0, 0], barrier=bar)
    if whole:
        tle.gpu.copy(tile_desc, tiles.slot(1), [8, 32], offsets=[0, 0], barrier=bar)
        tle.gpu.copy(tile_desc, tiles.slot(2), [8, 32], offsets=[0, 0], barrier=bar)
    tle.gpu.warp_specialize([(done, (o,)), (waits_at_end, (bar,))], [1])


def test_a_worker_that_waits_when_all_else_is_over():
    descriptor = triton.tools.tensor_descriptor.TensorDescriptor.from_tensor(torch.zeros(8, 32), [8, 32])
    error = failure_of(only_a_worker[(1,)], torch.zeros(1), descriptor, 0)
    assert who_waits(error) == {"worker 0": (line_of("at its end"), 0, 2 * 8 * 32 * 4)}


@triton.jit
def fill(full, rows):
    for row in range(rows):
        tle.gpu.barrier_arrive(full, 1, row)


@triton.jit
def use(full, start, rows):
    for row in range(rows):
        tle.gpu.barrier_wait(full, start + row)  # too late


@triton.jit
def unhurried(gate, full, rows):
    tle.gpu.barrier_wait(gate, 0)
    use(full, 0, rows)


@triton.jit
def fill_all(gate, full, rows):
    fill(full, rows)
    tle.gpu.barrier_arrive(gate, 1, 0)


@triton.jit
def runs_ahead(start, rows, LATE: tl.constexpr, READY: tl.constexpr):
    """A producer that waits for nobody: the consumer comes when all phases are complete, or waits for the first."""
    full = tle.gpu.alloc_barrier(init=tle.gpu.READY) if READY else tle.gpu.alloc_barrier()
    gate = tle.gpu.alloc_barrier()
    if LATE:
        tle.gpu.warp_specialize([(unhurried, (gate, full, rows)), (fill_all, (gate, full, rows))], [1])
    else:
        tle.gpu.warp_specialize([(use, (full, start, rows)), (fill, (full, rows))], [1])


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("rows", [2, 3, 6])
def test_phases_that_run_ahead_are_found(rows, late):
    error = failure_of(runs_ahead[(1,)], 0, rows, LATE=late, READY=False, debug=True)
    said = str(error)
    assert error.kind == "phases" and "the phase after it is complete too" in said and "# too late" in said
    assert f"phases that the wait is for = 1: phases complete = {rows}" in said


def test_phases_that_run_ahead_of_a_barrier_that_begins_ready():
    error = failure_of(runs_ahead[(1,)], 0, 3, LATE=True, READY=True, debug=True)
    assert "phases that the wait is for = 0: phases complete = 3" in str(error)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("ready", [False, True])
def test_a_phase_that_is_just_complete_has_not_run_ahead(late, ready):
    rows = 0 if ready else 1
    with knobs.scope():
        knobs.debug = True
        runs_ahead[(1,)](0, rows, LATE=late, READY=ready)


@triton.jit
def by_parity(full, empty, rows):
    """Waits that pass parities on, and ones that begin again: right, and not to be counted."""
    phase = 0
    for row in range(rows):
        tle.gpu.barrier_wait(full, phase)
        phase = phase ^ 1
        tle.gpu.barrier_arrive(empty, 1, row)
    for _ in range(2):
        for row in range(2):
            tle.gpu.barrier_wait(full, row)
            tle.gpu.barrier_arrive(empty, 1, row)


@triton.jit
def feed(full, empty, rows):
    for row in range(rows + 4):
        tle.gpu.barrier_wait(empty, row % 2)
        tle.gpu.barrier_arrive(full, 1, row)


@triton.jit
def parities(rows):
    full, empty = tle.gpu.alloc_barrier(), tle.gpu.alloc_barrier(init=tle.gpu.READY)
    tle.gpu.warp_specialize([(by_parity, (full, empty, rows)), (feed, (full, empty, rows))], [1])


def test_waits_by_parities_are_not_counted():
    with knobs.scope():
        knobs.debug = True
        parities[(1,)](8)


@triton.jit
def checks(x, o, n):
    tl.device_assert(n < 5, "a small number")  # small
    tl.store(o, tl.load(x + n))  # far


@triton.jit
def failing(x, o, n):
    bar = tle.gpu.alloc_barrier()
    tle.gpu.warp_specialize([(waits_at_end, (bar,)), (checks_and_tells, (x, o, n, bar))], [1])


@triton.jit
def checks_and_tells(x, o, n, bar):
    checks(x, o, n)
    tle.gpu.barrier_arrive(bar, 1, 0)


def test_what_fails_in_a_worker_is_told_as_elsewhere():
    x, o = torch.ones(8), torch.zeros(1)
    error = failure_of(lambda: failing[(1,)](x, o, 6, debug=True), debug=True)
    assert error.kind == "assert" and "a small number" in str(error) and "# small" in str(error)
    with knobs.scope(), pytest.raises(KernelFailed, match="outside of the memory") as caught:
        knobs.debug = True
        outside[(1,)](x, o, 9)
    assert "# far away" in str(caught.value)
    failing[(1,)](x, o, 6)
    assert o.item() == 1


@triton.jit
def reads(x, o, n):
    tl.store(o, tl.load(x + n))  # far away


@triton.jit
def outside(x, o, n):
    tle.gpu.warp_specialize([(done, (o,)), (reads, (x, o, n))], [1])


@triton.jit
def early(ring, full, o):
    tl.store(o + tl.arange(0, 16), ring[0].load())  # unwritten
    tle.gpu.barrier_wait(full, 0)


@triton.jit
def late(ring, full):
    ring[0].store(tl.zeros([16], tl.float32))
    tle.gpu.barrier_arrive(full, 1, 0)


@triton.jit
def reads_early(o):
    ring = tle.gpu.alloc([2, 16], tl.float32, nv_mma_shared_layout=False)
    full = tle.gpu.alloc_barrier()
    tle.gpu.warp_specialize([(early, (ring, full, o)), (late, (ring, full))], [1])


def test_a_buffer_that_another_partition_has_not_written():
    error = failure_of(reads_early[(1,)], torch.zeros(16), debug=True)
    assert "the buffer `ring` is read before it was written" in str(error) and "# unwritten" in str(error)


@triton.jit
def spins(flag):
    while tl.atomic_add(flag, 0) == 0:  # spins
        pass


@triton.jit
def waits_in_memory(flag, o):
    tle.gpu.warp_specialize([(done, (o,)), (spins, (flag,)), (spins, (flag,))], [1, 1])


def test_workers_that_wait_in_memory_for_ever():
    with knobs.scope():
        knobs.cpu.patience = 0.3
        error = failure_of(waits_in_memory[(2,)], torch.zeros(1, dtype=torch.int32), torch.zeros(1))
    assert error.kind == "standstill" and "a loop waits for memory" in str(error) and "# spins" in str(error)


@triton.jit
def says(n):
    tl.device_print("number", n)


@triton.jit
def prints(n):
    tle.gpu.warp_specialize([(says, (n,)), (says, (n + 1,)), (says, (n + 0.25,))], [1, 1])


def test_what_partitions_print_comes_in_their_order(capfd):
    prints[(1,)](7)
    said = capfd.readouterr().out.splitlines()
    assert len(said) == 3 and [float(line.split(":")[-1].split()[-1]) for line in said] == [7, 8, 7.25]


@triton.jit
def meets(bar, o, mine, other):
    """Comes to a barrier of two warps twice; what the other partition wrote is there."""
    tl.store(o + mine, mine + 1)
    tle.gpu.barrier_wait(bar)  # meets
    tl.store(o + 2 + mine, tl.load(o + other) * 10)
    tle.gpu.barrier_wait(bar)
    tl.store(o + 4 + mine, tl.load(o + 2 + other))


@triton.jit
def named(o, ALONE: tl.constexpr):
    bar = tle.gpu.alloc_barrier(arrive_count=96)
    if ALONE:
        tle.gpu.warp_specialize([(done, (o,)), (meets, (bar, o, 0, 1))], [1])
    else:
        tle.gpu.warp_specialize([(done, (o,)), (meets, (bar, o, 0, 1)), (meets, (bar, o, 1, 0))], [1, 2])


def test_named_barriers_count_the_threads_of_partitions():
    o = torch.zeros(6)
    named[(1,)](o, ALONE=False)
    assert o.tolist() == [1, 2, 20, 10, 10, 20]
    error = failure_of(named[(1,)], torch.zeros(6), ALONE=True)
    assert who_waits(error) == {"worker 0": (line_of("meets"), 64, 0)}


@triton.jit
def two_that_are_done(o):
    tle.gpu.warp_specialize([(done, (o,)), (done, (o + 1,))], [1])


def test_a_stack_that_was_overrun_is_told(monkeypatch, tmp_path):
    """No kernel needs so much: here the word that must stay is looked for in vain."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    functions = turns.FUNCTIONS.replace(str(stacks.CANARY), str(stacks.CANARY - 1))
    assert functions != turns.FUNCTIONS
    with monkeypatch.context() as patched:
        patched.setattr(turns, "FUNCTIONS", functions)
        with pytest.raises(KernelFailed, match="needs more stack than it has") as caught:
            two_that_are_done[(1,)](torch.zeros(2))
    assert caught.value.kind == "stack_overflow"
