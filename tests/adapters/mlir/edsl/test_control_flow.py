"""Branches and loops: the same Python function runs on the host, which says what is right."""

import numpy as np
import pytest

from tle_raw import InOut, Pointer, Scalar, mlir
from tle_raw.mlir import static_range, thread_id

pytestmark = pytest.mark.every_triton(1)

COUNT = 60
A = np.random.default_rng(3).integers(-12, 13, COUNT).astype(np.int32)
B = np.random.default_rng(4).integers(-12, 13, COUNT).astype(np.int32)
FACTORS = (3, 1, 4)


def if_elif_else(a, b):
    if a > 5:
        r = a * 2
    elif a > 0:
        r = b
    elif b == 3:
        r = 7
    else:
        r = a - b
    return r


def if_without_else(a, b):
    r = 1
    if a > b:
        r = a
        if b > 0:
            r += b
    return r


def while_loop(a, b):
    n = 0
    x = abs(a) * 10 + 7
    while x > 1:
        x = x // 2 if x % 2 == 0 else 3 * x + 1
        n += 1
        if n > 200:
            x = 0
    return n + b


def for_with_bounds(a, b):
    s = 0
    for i in range(a, b):
        s += i * i
    return s


def for_with_negative_step(a, b):
    s = 0
    for i in range(a, b, -3):
        s = s * 3 % 1000 + i
    return s


def for_with_a_step_that_is_known_at_run_time(a, b):
    s = 0
    step = 2 if a > b else -1
    if b == 2:
        step = 1
    for i in range(a, a + 2 * b, step):
        s = s * 3 % 1000 + i
    return s


def the_name_of_a_loop_keeps_its_last_value(a, b):
    i = 100
    for i in range(0, a, 2):  # noqa: B007
        pass
    return i + b


def break_and_continue(a, b):
    s = 0
    for i in range(20):
        if i == a:
            break
        if i % 3 == 0:
            continue
        s += i + b
    return s


def break_out_of_an_endless_loop(a, b):
    x = 0
    while True:
        x += 1
        if x * x > a + 10 * b:
            break
    return x


def nested_loops_with_jumps(a, b):
    found = -1
    for i in range(10):
        for j in range(i):
            if i * j == abs(a):
                found = i * 100 + j
                break
            if j > abs(b):
                continue
            found -= 1
        if found > 0:
            break
    return found


def early_returns(a, b):
    if a == 0:
        return b
    if b == 0:
        return a
    return a * b


def a_return_in_a_loop(a, b):
    for i in range(a):
        if i * i > b:
            return i
    return -1


def a_return_in_two_loops(a, b):
    n = 0
    while n < 10:
        for i in range(n):
            if i * n == abs(a) + abs(b):
                return i * 1000 + n
        n += 1
    return n


def jumps_on_every_side(a, b):
    s = 0
    for i in range(8):
        if i < a:
            s += 1
            continue
        if i == b:
            s += 100
            break
        s += 10
    return s


def unrolled(a, b):
    s = 0
    for i in (0, 1, 2, 3):
        if i == 2:
            s += a * FACTORS[0]
        else:
            s += b * i
    for f in FACTORS:
        s = s * 2 + f
    return s


def unrolled_with_a_break(a, b):
    s = 0
    for i in (5, 3, 1):
        if i == a:
            break
        if i == b:
            continue
        s += i
    return s


def short_circuit(a, b):
    r = 0
    if b != 0 and a // b > 1:
        r += 1
    if b == 0 or a % b == 0:
        r += 2
    if not (a > 0 and b > 0) or a == b:
        r += 4
    return r


def and_or_give_operands(a, b):
    return (a or 5) + (b and 9) + ((a and b) or 3)


def conditional_expressions(a, b):
    return (a if a > b else b) * (1 if a > 0 else -1 if a < 0 else 0)


def chained_comparisons(a, b):
    r = 0
    if -5 < a < b <= 9:
        r = 1
    if a == b == 3 or a != b != 4:
        r += 2
    return r


def walrus(a, b):
    r = 0
    while (half := abs(a) // 2 - r) > 0:
        r += 1
    if (c := a + b) > 3:
        r += c
    return r * 10 + half


def tuples(a, b):
    x, (y, z) = a, (b, a + b)
    x, y = y, x
    pair = (x, y) if a > 0 else (z, x)
    for _ in range(3):
        pair = (pair[1], pair[0] + 1)
    p, q = pair
    return p * 100 + q


def divmods(a, b):
    c = b if b != 0 else 1
    q, r = divmod(a, c)
    return q * 100 + r + sum((q, r, a)) + pow(r, 2)


def deeper(a, b):
    return helper(a, helper(b, a, scale=2), scale=-1) + helper(b, 1)


def helper(x, y, scale=3):
    if x > y:
        return x * scale
    return y - x


SHAPES = [
    value for name, value in list(globals().items()) if callable(value) and getattr(value, "__module__", "") == __name__
]
SHAPES = [f for f in SHAPES if f is not helper]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda f: f.__name__)
def test_a_function_does_what_python_does(run, shape, monkeypatch):
    wanted = np.array([shape(int(a), int(b)) for a, b in zip(A, B)], np.int32)
    monkeypatch.setitem(globals(), "helper", mlir.function(helper))
    device = mlir.function(shape)

    def f(a: Pointer["i32"], b: Pointer["i32"], o: InOut[Pointer["i32"]]):
        for i in range(thread_id(), COUNT, mlir.block_dim()):
            o[i] = device(a[i], b[i])

    out = np.zeros(COUNT, np.int32)
    run(f, a=A, b=B, o=out)
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("n", [0, 1, 7, 100])
def test_a_fragment_itself_jumps_and_returns(run, n):
    def f(p: Pointer["i32"], n: Scalar["i32"]) -> Scalar["i32"]:
        if n == 0:
            return -1
        best = p[0]
        for i in range(1, n):
            if p[i] == 0:
                continue
            if p[i] > 11:
                return i
            if best < p[i]:
                best = p[i]
        best *= 2
        return best

    p = np.random.default_rng(n).integers(-12, 12, 128).astype(np.int32)
    large = [i for i in range(1, n) if p[i] > 11]
    kept = [int(v) for v in p[1:n] if v != 0]
    want = -1 if n == 0 else large[0] if large else max([int(p[0]), *kept]) * 2
    assert run(f, p=p, n=np.int32(n)) == want


def test_a_static_range_is_unrolled_and_its_name_is_a_constant(run, module):
    def f(t: InOut[Pointer["f32"]]):
        s = 0.0
        for i in static_range(1, 8, 2):
            s += t[i] * i
        t[0] = s

    built = module(f).text
    assert "scf.for" not in built and built.count('"llvm.load"') == 4
    t = np.arange(8, dtype="f4")
    run(f, t=t)
    assert t[0] == 1 + 9 + 25 + 49


def test_a_literal_that_a_loop_adds_to_takes_the_wider_type(run, module):
    def f(p: Pointer["f64"], h: Pointer["f16"], o: InOut[Pointer["f64"]], n: Scalar["i32"]):
        total = 0
        small = 0.0
        count = 0
        for i in range(n):
            total += p[i]
            small += h[i]
            while count < 3:
                count += 1
        o[0] = total
        o[1] = small
        o[2] = count

    p, h = np.random.default_rng(1).standard_normal((2, 50))
    h = h.astype(np.float16)
    o = np.zeros(3)
    run(f, p=p, h=h, o=o, n=np.int32(50))
    np.testing.assert_allclose(o, [p.sum(), h.astype("f8").sum(), 3], rtol=1e-5)
    text = module(f).text
    assert "-> (f64, f32, i32)" in text  # halves are summed up in f32


def test_a_constant_condition_leaves_one_side_only(module):
    def f(x: Scalar["T"]) -> Scalar["T"]:
        if mlir.f32 == T:
            return x * 2.0
        if T.bits > 32:
            return x[0]  # not read for these types
        return x

    assert "arith.mulf" in module(f, T="f32").text
    assert "arith" not in module(f, T="i32").text


def test_a_dynamic_range_of_other_integers(run):
    def f(n: Scalar["i64"], m: Scalar["u32"], k: Scalar["i8"], o: InOut[Pointer["i64"]]):
        for i in range(n, n + 5):
            o[0] += i
        for j in range(m):
            o[1] += j.to("i64")
        for j in range(k):
            o[2] += j
        for j in range(4_000_000_000, 4_000_000_003):
            o[3] += j

    o = np.zeros(4, np.int64)
    run(_one_thread(f), n=np.int64(1 << 40), m=np.uint32(5), k=np.int8(4), o=o)
    np.testing.assert_array_equal(o, [5 * (1 << 40) + 10, 10, 6, 12_000_000_003])


def _one_thread(f):
    device = mlir.function(f)

    def g(n: Scalar["i64"], m: Scalar["u32"], k: Scalar["i8"], o: InOut[Pointer["i64"]]):
        if thread_id() == 0:
            device(n, m, k, o)

    return g
