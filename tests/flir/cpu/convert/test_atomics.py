"""Atomic operations: every kind on every type, masks, results, contention of programs on all cores, memory orders."""

import threading

import pytest

pytest.importorskip("torch_mlir.ir")
pytest.importorskip("torch")

import numpy as np
import torch
import triton
import triton.language as tl

import tle_raw
from tests.flir.cpu.convert.support import assert_close, assert_lines, assert_same, name_of, random_tensor

pytestmark = pytest.mark.every_triton(4)

B = 64
NEW = hasattr(tl, "atomic_poll")


@pytest.fixture(autouse=True)
def threads():
    with tle_raw.knobs.scope():
        tle_raw.knobs.cpu.threads = 4
        yield


@triton.jit
def each(targets, values, old, n, B: tl.constexpr, BITS: tl.constexpr, SEM: tl.constexpr):
    at = tl.arange(0, B)
    mask = at < n
    v = tl.load(values + at)
    tl.store(old + at, tl.atomic_add(targets + at, v, mask=mask, sem=SEM))
    tl.atomic_max(targets + B + at, v, mask=mask, sem=SEM)
    tl.atomic_min(targets + 2 * B + at, v, mask=mask, sem=SEM)
    tl.store(old + B + at, tl.atomic_xchg(targets + 3 * B + at, v, mask=mask, sem=SEM))
    if BITS:
        tl.atomic_and(targets + 4 * B + at, v, mask=mask, sem=SEM)
        tl.store(old + 2 * B + at, tl.atomic_or(targets + 5 * B + at, v, mask=mask, sem=SEM))
        tl.atomic_xor(targets + 6 * B + at, v, mask=mask, sem=SEM)


ORDERS = ["relaxed", "acquire", "release", "acq_rel"]
TYPES = [torch.int32, torch.uint32, torch.int64, torch.uint64, torch.float32, torch.float64]


@pytest.mark.parametrize("dtype, order", [*[(t, "acq_rel") for t in TYPES], *[(torch.int32, o) for o in ORDERS[:3]]])
def test_every_kind(dtype, order):
    is_float = dtype.is_floating_point
    targets, values = (random_tensor(dtype, 7, B, seed=seed) for seed in (1, 2))
    values, n = values[0], 50
    before, old = targets.numpy().copy(), torch.zeros(3, B, dtype=dtype)
    each[(1,)](targets, values, old, n, B=B, BITS=not is_float, SEM=order)
    v = values.numpy()
    with np.errstate(over="ignore"):
        rows = [before[0] + v, np.maximum(before[1], v), np.minimum(before[2], v), v]
    rows += [before[4] & v, before[5] | v, before[6] ^ v] if not is_float else []
    for number, row in enumerate(rows):
        np.testing.assert_array_equal(targets[number, :n].numpy(), row[:n], err_msg=str(number))
        np.testing.assert_array_equal(targets[number, n:].numpy(), before[number, n:])
    for number, row in enumerate((0, 3) if is_float else (0, 3, 5)):
        np.testing.assert_array_equal(old[number, :n].numpy(), before[row, :n])


@triton.jit
def contended(target, out, result, rounds, B: tl.constexpr, USED: tl.constexpr):
    at = tl.arange(0, B) % 4
    one = tl.full((B,), 1, target.dtype.element_ty)
    for _i in range(rounds):
        if USED:
            seen = tl.atomic_add(target + at, one)
            tl.atomic_max(result, tl.max(seen, axis=0).to(tl.float32))
        else:
            tl.atomic_add(target + at, one)
    tl.atomic_add(out, tl.program_id(0))


@pytest.mark.parametrize("dtype", [torch.int32, torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("used", [False, True])
def test_programs_on_all_cores_add_to_one_place(dtype, used):
    programs, rounds = (2, 4) if dtype == torch.bfloat16 else (64, 40)
    if dtype == torch.float16:
        programs, rounds = 16, 8
    target, out, result = torch.zeros(4, dtype=dtype), torch.zeros(1, dtype=torch.int32), torch.zeros(1)
    contended[(programs,)](target, out, result, rounds, B=B, USED=used)
    assert target.double().tolist() == [programs * rounds * B / 4] * 4
    assert out.item() == programs * (programs - 1) // 2
    if used:
        assert result.item() == programs * rounds * B / 4 - 1


@triton.jit
def locked(lock, total, order, B: tl.constexpr):
    program = tl.program_id(0)
    while tl.atomic_cas(lock, 0, 1, sem="acquire") == 1:
        pass
    at = tl.arange(0, B)
    count = tl.load(order + 1000)
    tl.store(order + count, program)
    tl.store(order + 1000, count + 1)
    tl.store(total + at, tl.load(total + at) + program + at)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0, sem="release")


def test_a_lock_of_cas_keeps_programs_apart():
    programs = 200
    lock, total, order = (torch.zeros(n, dtype=torch.int32) for n in (1, B, 1001))
    locked[(programs,)](lock, total, order, B=B)
    assert sorted(order[:programs].tolist()) == list(range(programs))
    assert_same(total, programs * (programs - 1) // 2 + programs * torch.arange(B))


@triton.jit
def swapped(target, expected, new, old, B: tl.constexpr):
    at = tl.arange(0, B)
    seen = tl.atomic_cas(target + at, tl.load(expected + at), tl.load(new + at))
    tl.store(old + at, seen)
    tl.atomic_cas(target, tl.load(target), tl.load(new))


@pytest.mark.parametrize("dtype", [torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64])
def test_compare_and_swap_of_tiles(dtype):
    before, new = (random_tensor(dtype, B, seed=seed) for seed in (1, 2))
    matches = torch.arange(B) % 3 > 0
    matches[0] = False
    expected = torch.where(matches, before, before + 1)
    target, old = before.clone(), torch.zeros_like(before)
    swapped[(1,)](target, expected, new, old, B=B)
    assert_same(old, before)
    assert_same(target[1:], torch.where(matches, new, before)[1:])


@triton.jit
def scalar_atomics(ints, floats, n):
    tl.store(ints + 1, tl.atomic_add(ints, 5))
    tl.store(ints + 2, tl.atomic_xchg(ints, 7, mask=n > 3))
    tl.atomic_add(ints, 100, mask=n < 3)
    tl.atomic_max(floats, -2.5)
    tl.atomic_min(floats + 1, -2.5)
    tl.atomic_max(floats + 2, 3.5)
    tl.atomic_min(floats + 3, 3.5)


def test_scalars_and_signs_of_floats():
    ints, floats = torch.zeros(3, dtype=torch.int32), torch.tensor([-4.0, -1.0, -1.0, 4.0])
    scalar_atomics[(1,)](ints, floats, 5)
    assert ints.tolist() == [7, 0, 5]
    assert floats.tolist() == [-2.5, -2.5, 3.5, 3.5]


@triton.jit
def duplicates(target, index, out, B: tl.constexpr):
    at = tl.arange(0, B)
    where = tl.load(index + at)
    tl.store(out + at, tl.atomic_add(target + where, 1))
    tl.atomic_xor(target + where * 0 + B, where, mask=where != 3)


def test_one_tile_may_name_an_address_many_times():
    index = random_tensor(torch.int32, B) & 7
    target, out = torch.zeros(B + 1, dtype=torch.int32), torch.zeros(B, dtype=torch.int32)
    duplicates[(1,)](target, index, out, B=B)
    counts = torch.bincount(index.long(), minlength=8)
    assert target[:8].tolist() == counts.tolist()
    for value in range(8):
        assert sorted(out[index == value].tolist()) == list(range(counts[value]))


@triton.jit
def ordered(x, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.atomic_add(x + at, 1.0, sem="relaxed")
    tl.atomic_cas(x.to(tl.pointer_type(tl.int32), bitcast=True), 1, 2, sem="acquire")
    tl.atomic_xchg(x + at, 1.0, sem="release")
    tl.atomic_max(x.to(tl.pointer_type(tl.int32), bitcast=True), 3)


def test_memory_orders_are_llvms(tmp_path):
    text = ordered[(1,)](torch.zeros(16), B=16).asm["linalg"]
    lines = """
        // CHECK: llvm.atomicrmw fadd %{{.*}}, %{{.*}} monotonic : !llvm.ptr, f32
        // CHECK: llvm.cmpxchg %{{.*}}, %{{.*}}, %{{.*}} acquire acquire : !llvm.ptr, i32
        // CHECK: llvm.atomicrmw xchg %{{.*}}, %{{.*}} release
        // CHECK: llvm.atomicrmw max %{{.*}}, %{{.*}} acq_rel
    """
    assert_lines(text, lines, tmp_path)


@triton.jit
def loaded_and_stored(x, out, n, B: tl.constexpr):
    at = tl.arange(0, B)
    value = tl.atomic_load(x + at, mask=at < n)
    tl.atomic_store(out + at, value, mask=at < n)
    tl.atomic_store(out + B, tl.atomic_load(x, sem="acquire"), sem="release")


@pytest.mark.skipif(not NEW, reason="the language has atomic loads from 3.9 on")
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.float32, torch.float16], ids=str)
def test_atomic_loads_and_stores(dtype, tmp_path):
    x, out = random_tensor(dtype, B), torch.zeros(B + 1, dtype=dtype)
    text = loaded_and_stored[(1,)](x, out, 50, B=B).asm["linalg"]
    assert_same(out[:50], x[:50])
    assert not out[50:B].any()
    assert out[B] == x[0]
    lines = """
        // CHECK: llvm.load %{{.*}} atomic {{monotonic|acquire}}
        // CHECK: llvm.store %{{.*}} atomic {{monotonic|release}}
        // CHECK: llvm.load %{{.*}} atomic acquire
        // CHECK: llvm.store %{{.*}} atomic release
    """
    assert_lines(text, lines, tmp_path)


@triton.jit
def waits(flags, data, out, TIMEOUT: tl.constexpr, B: tl.constexpr):
    at = tl.arange(0, B)
    if TIMEOUT is None:
        found = tl.atomic_poll(flags + at, 7)
    else:
        found = tl.atomic_poll(flags + at, 7, sem="relaxed", timeout_ns=TIMEOUT)
    tl.store(out + at, found.to(tl.int32) + tl.load(data + at) * 0)
    tl.store(out + B, tl.atomic_poll(flags, 7, timeout_ns=0).to(tl.int32))


@pytest.mark.skipif(not NEW, reason="the language has atomic_poll from 3.9 on")
@pytest.mark.parametrize("dtype", [torch.int16, torch.int32, torch.uint64], ids=str)
def test_polls_end_when_the_value_comes(dtype):
    flags = torch.zeros(16, dtype=dtype)
    data, out = torch.zeros(16, dtype=torch.int32), torch.zeros(17, dtype=torch.int32)
    waits[(1,)](flags.new_full((16,), 7), data, out, TIMEOUT=None, B=16)  # compiles
    out.zero_()
    numbers = flags.numpy()
    timer = threading.Timer(0.2, lambda: numbers.fill(7))
    timer.start()
    waits[(1,)](flags, data, out, TIMEOUT=None, B=16)
    timer.join()
    assert out.tolist() == [1] * 17


@pytest.mark.skipif(not NEW, reason="the language has atomic_poll from 3.9 on")
@pytest.mark.parametrize("timeout", [0, 50_000_000])
def test_polls_end_when_their_time_is_over(timeout):
    flags = torch.arange(16, dtype=torch.int32)
    data, out = torch.zeros(16, dtype=torch.int32), torch.zeros(17, dtype=torch.int32)
    waits[(1,)](flags, data, out, TIMEOUT=timeout, B=16)
    assert out.tolist() == [1 if i == 7 else 0 for i in range(16)] + [0]


def test_results_nobody_wants_make_no_buffer(tmp_path):
    target, out = torch.zeros(4), torch.zeros(1, dtype=torch.int32)
    text = contended[(1,)](target, out, target, 1, B=B, USED=False).asm["linalg"]
    assert_lines(text, "// CHECK: llvm.atomicrmw fadd\n// CHECK-NOT: memref.store", tmp_path)
    assert_close(target, torch.full((4,), B / 4), 0)
    assert name_of(target.dtype) == "float32"
