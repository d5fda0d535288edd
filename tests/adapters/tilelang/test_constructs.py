"""TileLang's constructs one by one, traced: numbers on the CPU against NumPy and torch in float64."""

import numpy as np
import pytest
import tilelang.language as T
import torch

import tle_raw
from tests.adapters.tilelang.conftest import compile_for_gpu
from tests.adapters.tilelang.test_numbers import agree, integers, random, run

pytestmark = [pytest.mark.usefixtures("on_cpu"), pytest.mark.every_triton(1)]


def unary(dtype, make, n=100, out=None):
    """``Y = make(X)`` element by element."""

    @T.prim_func
    def unary(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), out or dtype)):
        with T.Kernel(1, threads=128) as _:
            for i in T.Parallel(n):
                Y[i] = make(X[i])

    return unary


FUNCTIONS = {
    "exp": (T.exp, torch.exp),
    "exp2": (T.exp2, torch.exp2),
    "exp10": (lambda x: T.exp10(x * T.cast(0.5, x.dtype)), lambda x: 10 ** (x / 2)),
    "log": (lambda x: T.log(T.abs(x)), lambda x: x.abs().log()),
    "log2": (lambda x: T.log2(T.abs(x)), lambda x: x.abs().log2()),
    "log10": (lambda x: T.log10(T.abs(x)), lambda x: x.abs().log10()),
    "log1p": (lambda x: T.log1p(T.abs(x)), lambda x: x.abs().log1p()),
    "sqrt": (lambda x: T.sqrt(T.abs(x)), lambda x: x.abs().sqrt()),
    "rsqrt": (lambda x: T.rsqrt(T.abs(x)), lambda x: x.abs().rsqrt()),
    "sin": (T.sin, torch.sin),
    "cos": (T.cos, torch.cos),
    "tan": (T.tan, torch.tan),
    "atan": (T.atan, torch.atan),
    "sinh": (T.sinh, torch.sinh),
    "cosh": (T.cosh, torch.cosh),
    "tanh": (T.tanh, torch.tanh),
    "erf": (T.erf, torch.erf),
    "floor": (T.floor, torch.floor),
    "ceil": (T.ceil, torch.ceil),
    "trunc": (T.trunc, torch.trunc),
    "round": (T.round, lambda x: torch.sign(x) * torch.floor(x.abs() + 0.5)),
    "nearbyint": (T.nearbyint, torch.round),
    "sigmoid": (T.sigmoid, torch.sigmoid),
    "abs": (T.abs, torch.abs),
    "square": (lambda x: T.pow(x, 2.0), lambda x: x * x),
    "power": (lambda x: T.pow(T.abs(x), 1.7), lambda x: x.abs() ** 1.7),
    "clamp": (lambda x: T.clamp(x, -0.5, 0.25), lambda x: x.clamp(-0.5, 0.25)),
    "max": (lambda x: T.max(x, 0.5), lambda x: x.clamp(min=0.5)),
    "min": (lambda x: T.min(x, 0.5), lambda x: x.clamp(max=0.5)),
    "select": (lambda x: T.Select(x > 0, x, x * T.cast(0.5, x.dtype)), lambda x: torch.where(x > 0, x, x * 0.5)),
    "fast exp": (T.__exp, torch.exp),
    "fused": (lambda x: T.fma(x, x, x), lambda x: x * x + x),
    "exact division": (lambda x: T.ieee_fdiv(x, T.cast(3.0, x.dtype)), lambda x: x / 3),
    "infinity": (lambda x: T.min(x, T.infinity(x.dtype)), lambda x: x),
}


OF_HALVES = [name for name in FUNCTIONS if name not in ("fused", "exact division", "fast exp")]


@pytest.mark.parametrize(
    "name, dtype", [*((name, "float32") for name in FUNCTIONS), *((name, "float16") for name in OF_HALVES[::2])]
)
def test_functions(name, dtype):
    make, expected = FUNCTIONS[name]
    x = random(100, dtype=dtype, scale=1.5)
    y = torch.zeros_like(x)
    run(unary(dtype, make), x, y)
    agree(y, expected(x.double()), 2e-6 if dtype == "float32" else 2.0**-10)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "int8", "uint8", "int64"])
@pytest.mark.parametrize("out", ["float32", "float16", "int32", "int64", "int8", "bfloat16"])
def test_casts(dtype, out):
    x = integers(0, 100, 100, dtype=dtype)
    y = torch.zeros(100, dtype=getattr(torch, out))
    run(unary(dtype, lambda v: T.cast(v, out), out=out), x, y)
    assert torch.equal(y, x.to(y.dtype))


def test_bits_are_kept_by_a_reinterpretation():
    x, y = random(100), torch.zeros(100, dtype=torch.int32)
    run(unary("float32", lambda v: T.reinterpret(v, "int32"), out="int32"), x, y)
    assert torch.equal(y, x.view(torch.int32))


def test_integers_bit_by_bit():
    def mix(v):
        return ((v << 2) | (v >> 3)) ^ (v & 12) ^ T.bitwise_not(v)

    x, y = integers(-1000, 1000, 100), torch.zeros(100, dtype=torch.int32)
    run(unary("int32", mix), x, y)
    assert torch.equal(y, ((x << 2) | (x >> 3)) ^ (x & 12) ^ ~x)


@pytest.mark.parametrize("divisor", [1, 3, 8, -3, -8])
def test_floor_division_rounds_down(divisor):
    x = integers(-50, 50, 100)
    y, z = torch.zeros(100, dtype=torch.int32), torch.zeros(100, dtype=torch.int32)
    run(unary("int32", lambda v: v // divisor), x, y)
    run(unary("int32", lambda v: v % divisor), x, z)
    assert torch.equal(y, torch.div(x, divisor, rounding_mode="floor"))
    assert torch.equal(z, torch.remainder(x, divisor))


def test_truncated_division_goes_to_zero():
    x, y = integers(-50, 50, 100), torch.zeros(100, dtype=torch.int32)
    run(unary("int32", lambda v: T.truncdiv(v, 3) * 10 + T.truncmod(v, 3)), x, y)
    assert torch.equal(y, torch.div(x, 3, rounding_mode="trunc") * 10 + torch.fmod(x, 3))


def test_division_of_two_lanes_rounds_down():
    @T.prim_func
    def divide(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32"), Z: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64) as _:
            for i in T.Parallel(64):
                Z[i] = X[i] // Y[i] * 1000 + X[i] % Y[i]

    x, y = integers(-50, 50, 64, seed=1), integers(1, 9, 64, seed=2) * torch.tensor([1, -1] * 32, dtype=torch.int32)
    z = torch.zeros(64, dtype=torch.int32)
    run(divide, x, y, z)
    assert torch.equal(z, torch.div(x, y, rounding_mode="floor") * 1000 + torch.remainder(x, y))


# reductions and scans

REDUCTIONS = {
    "sum": lambda x, d: x.sum(d),
    "max": lambda x, d: x.amax(d),
    "min": lambda x, d: x.amin(d),
    "absmax": lambda x, d: x.abs().amax(d),
    "abssum": lambda x, d: x.abs().sum(d),
}


def reduction(kind, m, n, dim, clear, dtype="float32"):
    size = m if dim == 1 else n
    reduce = getattr(T, f"reduce_{kind}")
    keywords = {} if kind == "abssum" else {"clear": clear}

    @T.prim_func
    def reduction(X: T.Tensor((m, n), dtype), Y: T.Tensor((size,), dtype)):
        with T.Kernel(1, threads=128) as _:
            x = T.alloc_fragment((m, n), dtype)
            y = T.alloc_fragment((size,), dtype)
            T.copy(X, x)
            T.copy(Y, y)
            reduce(x, y, dim=dim, **keywords)
            T.copy(y, Y)

    return reduction


# Each kind of uneven size; other sizes of two kinds.
KINDS_OF_SIZES = [(kind, (5, 33)) for kind in REDUCTIONS]
KINDS_OF_SIZES += [(kind, size) for kind in ("sum", "absmax") for size in ((16, 64), (1, 7), (7, 1))]


@pytest.mark.parametrize("kind, size", KINDS_OF_SIZES)
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("clear", [True, False])
def test_reductions(kind, dim, size, clear):
    m, n = size
    if kind == "abssum" and not clear:
        pytest.skip("TileLang always starts it anew")
    x = random(m, n, seed=1) - 3  # all maxima below zero: padding must not win
    y = random(m if dim == 1 else n, seed=2) - 3
    expected = REDUCTIONS[kind](x.double(), dim)
    if not clear:
        both = torch.stack([expected, y.double()])
        expected = {"sum": both.sum(0), "min": both.amin(0)}.get(kind, both.amax(0))
    run(reduction(kind, m, n, dim, clear), x, y)
    agree(y, expected, 1e-6)


@pytest.mark.parametrize("kind", ["sum", "max", "min"])
@pytest.mark.parametrize("dtype", ["int32", "float16", "int8"])
def test_reductions_of_other_dtypes(kind, dtype):
    x = integers(-3, 4, 6, 10, dtype=dtype)
    y = torch.zeros(6, dtype=x.dtype)
    run(reduction(kind, 6, 10, 1, True, dtype), x, y)
    assert torch.equal(y.double(), REDUCTIONS[kind](x.double(), 1))


@pytest.mark.parametrize("kind", ["bitand", "bitor", "bitxor"])
def test_reductions_of_bits(kind):
    x, y = integers(0, 2**20, 6, 10), torch.zeros(6, dtype=torch.int32)
    run(reduction(kind, 6, 10, 1, True, "int32"), x, y)
    function = {"bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor}[kind]
    assert np.array_equal(y.numpy(), function.reduce(x.numpy(), axis=1))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dim", [0, 1])
def test_cumulative_sums(dim, reverse):
    @T.prim_func
    def scan(X: T.Tensor((12, 50), "float32"), Y: T.Tensor((12, 50), "float32")):
        with T.Kernel(1, threads=128) as _:
            x = T.alloc_fragment((12, 50), "float32")
            T.copy(X, x)
            T.cumsum(x, dim=dim, reverse=reverse)
            T.copy(x, Y)

    x, y = random(12, 50), torch.zeros(12, 50)
    run(scan, x, y)
    double = x.double()
    agree(y, double.flip(dim).cumsum(dim).flip(dim) if reverse else double.cumsum(dim), 1e-6)


# pieces of block tensors


def test_pieces_are_copied_in_and_out():
    @T.prim_func
    def pieces(X: T.Tensor((64, 64), "float32"), Y: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128) as _:
            x = T.alloc_shared((64, 64), "float32")
            T.copy(X[0:32, :], x[32:64, :])
            T.copy(X[32:64, 0:48], x[0:32, 16:64])
            T.copy(X[32:64, 48:64], x[0:32, 0:16])
            T.copy(x[3, :], Y[0, :])
            T.copy(x[:, 5:38], Y[:, 31:64])
            T.copy(x[16:48, 0:16], Y[1:33, 8:24])

    x, y = random(64, 64), torch.zeros(64, 64)
    run(pieces, x, y)
    mid = torch.cat([torch.cat([x[32:, 48:], x[32:, :48]], 1), x[:32]])
    expected = torch.zeros(64, 64)
    expected[0] = mid[3]
    expected[:, 31:64] = mid[:, 5:38]
    expected[1:33, 8:24] = mid[16:48, :16]
    assert torch.equal(y, expected)


def test_stages_of_a_shared_buffer():
    @T.prim_func
    def stages(X: T.Tensor((6, 32, 16), "float16"), Y: T.Tensor((6, 32, 16), "float16")):
        with T.Kernel(1, threads=128) as _:
            ring = T.alloc_shared((2, 32, 16), "float16")
            T.copy(X[0, :, :], ring[0, :, :])
            for k in T.serial(6):
                if k + 1 < 6:
                    T.copy(X[k + 1, :, :], ring[(k + 1) % 2, :, :])
                for i, j in T.Parallel(32, 16):
                    Y[k, i, j] = ring[k % 2, i, j] * T.cast(2.0, "float16")

    x = random(6, 32, 16, dtype="float16")
    y = torch.zeros_like(x)
    run(stages, x, y)
    assert torch.equal(y, x * 2)


def test_indices_that_are_turned_shifted_strided_and_gathered():
    @T.prim_func
    def indices(
        X: T.Tensor((16, 32), "float32"), at: T.Tensor((16,), "int32"), Y: T.Tensor((32, 16), "float32"),
        Z: T.Tensor((16, 64), "float32"), G: T.Tensor((16,), "float32"),
    ):  # fmt: skip
        with T.Kernel(1, threads=128) as _:
            x = T.alloc_fragment((16, 32), "float32")
            y = T.alloc_fragment((32, 16), "float32")
            z = T.alloc_fragment((16, 64), "float32")
            where = T.alloc_fragment((16,), "int32")
            g = T.alloc_fragment((16,), "float32")
            T.copy(X, x)
            T.copy(at, where)
            for i, j in T.Parallel(16, 32):
                y[j, i] = x[i, j]
            for i, j in T.Parallel(16, 32):
                z[i, 2 * j] = x[i, j]
                z[i, 2 * j + 1] = x[15 - i, 31 - j]
            for i in T.Parallel(16):
                g[i] = x[i, where[i]]
            T.copy(y, Y)
            T.copy(z, Z)
            T.copy(g, G)

    x, at = random(16, 32), integers(0, 32, 16)
    y, z, g = torch.zeros(32, 16), torch.zeros(16, 64), torch.zeros(16)
    run(indices, x, at, y, z, g)
    assert torch.equal(y, x.T)
    assert torch.equal(z[:, 0::2], x) and torch.equal(z[:, 1::2], x.flip(0, 1))
    assert torch.equal(g, x[torch.arange(16), at.long()])


def test_not_a_number_and_minus_zero_survive_a_selection():
    @T.prim_func
    def rows(X: T.Tensor((4, 8), "float32"), Y: T.Tensor((4, 8), "float32")):
        with T.Kernel(1, threads=128) as _:
            x = T.alloc_shared((4, 8), "float32")
            T.copy(X, x)
            for k in T.serial(4):
                for j in T.Parallel(8):
                    Y[3 - k, j] = x[k, j]

    x = torch.tensor([[-0.0] * 8, [float("nan")] * 8, [float("inf")] * 8, [1.0] * 8])
    y = torch.zeros(4, 8)
    run(rows, x, y)
    assert torch.equal(y.view(torch.int32), x.flip(0).view(torch.int32))


def test_views_in_another_shape():
    @T.prim_func
    def views(X: T.Tensor((16, 32), "float32"), Y: T.Tensor((8, 64), "float32")):
        with T.Kernel(1, threads=128) as _:
            x = T.alloc_shared((16, 32), "float32")
            T.copy(X, x)
            y = T.reshape(x, (8, 64))
            for i, j in T.Parallel(8, 64):
                y[i, j] += 1.0
            for i, j in T.Parallel(16, 32):
                x[i, j] *= 2.0
            T.copy(y, Y)

    x, y = random(16, 32), torch.zeros(8, 64)
    run(views, x, y)
    assert torch.equal(y, ((x + 1) * 2).reshape(8, 64))


def test_transposed_copy():
    @T.prim_func
    def turned(X: T.Tensor((32, 64), "float16"), Y: T.Tensor((64, 32), "float16")):
        with T.Kernel(1, threads=128) as _:
            x = T.alloc_shared((32, 64), "float16")
            y = T.alloc_shared((64, 32), "float16")
            T.copy(X, x)
            T.transpose(x, y)
            T.copy(y, Y)

    x = random(32, 64, dtype="float16")
    y = torch.zeros(64, 32, dtype=torch.float16)
    run(turned, x, y)
    assert torch.equal(y, x.T)


# control flow


def test_branches_and_loops_on_scalars():
    @T.prim_func
    def control(X: T.Tensor((32,), "float32"), n: T.int32, Y: T.Tensor((3, 32), "float32")):
        with T.Kernel(3, threads=32) as bx:
            x = T.alloc_fragment((32,), "float32")
            count = T.alloc_var("int32", init=0)
            T.copy(X, x)
            if bx == 0:
                for i in T.Parallel(32):
                    x[i] = x[i] + 1.0
            elif bx == 1:
                for k in T.serial(n):
                    for i in T.Parallel(32):
                        x[i] = x[i] * 0.5 + k
            else:
                while count < n:
                    for i in T.Parallel(32):
                        x[i] = x[i] - count
                    count += 2
            T.copy(x, Y[bx, :])

    x, y = random(32), torch.zeros(3, 32)
    run(control, x, 5, y)
    halves = x.double()
    for k in range(5):
        halves = halves * 0.5 + k
    agree(y, torch.stack([x.double() + 1, halves, x.double() - 0 - 2 - 4]), 1e-6)


@pytest.mark.parametrize("n", [0, 1, 4])
def test_a_loop_that_may_not_run_leaves_what_was_there(n):
    @T.prim_func
    def maybe(X: T.Tensor((32,), "float32"), n: T.int32, Y: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32) as _:
            x = T.alloc_fragment((32,), "float32")
            T.fill(x, 7.0)
            for _ in T.serial(n):
                T.copy(X, x)
            T.copy(x, Y)

    x, y = random(32), torch.zeros(32)
    run(maybe, x, n, y)
    assert torch.equal(y, x if n else torch.full((32,), 7.0))


def test_loops_inside_lanes_and_values_of_lanes():
    @T.prim_func
    def lanes(X: T.Tensor((40, 6), "float32"), Y: T.Tensor((40,), "float32")):
        with T.Kernel(1, threads=64) as _:
            total = T.alloc_local((1,), "float32")
            for i in T.Parallel(40):
                total[0] = 0.0
                for k in T.serial(6):
                    if X[i, k] > 0.0:
                        total[0] += X[i, k]
                Y[i] = total[0]

    x, y = random(40, 6), torch.zeros(40)
    run(lanes, x, y)
    agree(y, x.double().clamp(min=0).sum(1), 1e-6)


def test_long_loops_inside_lanes():
    @T.prim_func
    def lanes(X: T.Tensor((40, 200), "float32"), n: T.int32, Y: T.Tensor((40,), "float32")):
        with T.Kernel(1, threads=64) as _:
            total = T.alloc_local((1,), "float32")
            for i in T.Parallel(40):
                total[0] = 0.0
                for k in T.serial(n):
                    total[0] += X[i, k]
                Y[i] = total[0]

    for n in (0, 1, 200):
        x, y = random(40, 200), torch.ones(40)
        run(lanes, x, n, y)
        agree(y + 1, x.double()[:, :n].sum(1) + 1, 1e-5)


def test_indices_under_a_name_that_differ_by_lane():
    @T.prim_func
    def named(X: T.Tensor((50, 32), "float32"), at: T.Tensor((20,), "int32"), Y: T.Tensor((20, 32), "float32"),
              Z: T.Tensor((20, 32), "float32"), W: T.Tensor((20, 32), "float32")):  # fmt: skip
        with T.Kernel(1, threads=64) as _:
            x = T.alloc_shared((50, 32), "float32")
            row = T.alloc_var("int32")
            T.copy(X, x)
            for i, j in T.Parallel(20, 32):
                place = at[i]
                Y[i, j] = X[place, j]
                Z[i, j] = x[place, j]
                row = at[i] + 1
                W[i, j] = X[row, j]

    x, at = random(50, 32), integers(0, 49, 20)
    y, z, w = torch.zeros(20, 32), torch.zeros(20, 32), torch.zeros(20, 32)
    run(named, x, at, y, z, w)
    assert torch.equal(y, x[at.long()]) and torch.equal(z, x[at.long()]) and torch.equal(w, x[at.long() + 1])


def test_what_is_read_beyond_the_bounds_may_be_chosen():
    @T.prim_func
    def safe(X: T.Tensor((50,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64) as _:
            x = T.alloc_fragment((64,), "float32")
            T.annotate_safe_value({X: -7.0})
            T.copy(X[0:64], x)
            T.copy(x, Y)

    x, y = random(50), torch.zeros(64)
    run(safe, x, y)
    assert torch.equal(y[:50], x) and (y[50:] == -7).all()


def test_guards_keep_what_is_outside_of_them():
    @T.prim_func
    def guards(X: T.Tensor((50,), "float32"), Y: T.Tensor((50,), "float32"), low: T.int32, high: T.int32):
        with T.Kernel(1, threads=64) as _:
            x = T.alloc_fragment((50,), "float32")
            T.copy(X, x)
            for i in T.Parallel(50):
                if i >= low:
                    if i < high:
                        x[i] = -x[i]
                    else:
                        x[i] = 0.0
            for i in T.Parallel(64):
                Y[i - 7] = x[i - 7]

    x, y = random(50), torch.full((50,), 9.0)
    run(guards, x, y, 10, 20)
    expected = x.clone()
    expected[10:20] *= -1
    expected[20:] = 0
    assert torch.equal(y, expected)


def test_indices_below_zero_read_zero_and_write_nothing():
    @T.prim_func
    def shifted(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32"), by: T.int32):
        with T.Kernel(1, threads=64) as _:
            x = T.alloc_fragment((64,), "float32")
            T.copy(X[by], x)
            T.copy(x, Y[0])

    for by in (-5, 0, 60, 1000):
        x, y = random(64), torch.zeros(64)
        run(shifted, x, y, by)
        expected = torch.tensor([x[i + by].item() if 0 <= i + by < 64 else 0.0 for i in range(64)])
        assert torch.equal(y, expected)


def test_unrolled_and_vectorised_loops():
    @T.prim_func
    def unrolled(X: T.Tensor((4, 64), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64) as _:
            x = T.alloc_shared((4, 64), "float32")
            y = T.alloc_fragment((64,), "float32")
            T.copy(X, x)
            T.clear(y)
            for k in T.unroll(4):
                for j in T.vectorized(64):
                    y[j] = y[j] + x[k, j] * (k + 1)
            T.copy(y, Y)

    x, y = random(4, 64), torch.zeros(64)
    run(unrolled, x, y)
    agree(y, (x.double() * torch.arange(1, 5)[:, None]).sum(0), 1e-6)


def test_a_loop_with_a_step():
    @T.prim_func
    def stepped(Y: T.Tensor((20,), "int32")):
        with T.Kernel(1, threads=32) as _:
            for k in T.serial(1, 20, 3):
                Y[k] = k

    y = torch.full((20,), -1, dtype=torch.int32)
    run(stepped, y)
    assert y.tolist() == [k if k % 3 == 1 else -1 for k in range(20)]


# reducers


@pytest.mark.parametrize("kind", ["sum", "max", "min"])
@pytest.mark.parametrize(("m", "n"), [(64, 128), (20, 33)])
def test_reducers(kind, m, n):
    @T.prim_func
    def reducers(X: T.Tensor((3, m, n), "float32"), Y: T.Tensor((m,), "float32"), Z: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=128) as _:
            rows = T.alloc_reducer((m,), "float32", op=kind)
            whole = T.alloc_reducer((1,), "float32", op=kind)
            y = T.alloc_fragment((m,), "float32")
            z = T.alloc_fragment((1,), "float32")
            T.reducer_init(rows)
            T.reducer_init(whole, 5.0)
            for k in T.serial(3):
                for i, j in T.Parallel(m, n):
                    T.reducer_update(rows[i], X[k, i, j] * 2.0)
                    if j > 2:
                        T.reducer_update(whole[0], X[k, i, j])
            T.finalize_reducer(rows, y)
            T.finalize_reducer(whole, z)
            T.copy(y, Y)
            T.copy(z, Z)

    x = random(3, m, n) - 3
    y, z = torch.zeros(m), torch.zeros(1)
    run(reducers, x, y, z)
    double = x.double()
    rows = {"sum": lambda t: t.sum((0, 2)), "max": lambda t: t.amax((0, 2)), "min": lambda t: t.amin((0, 2))}[kind]
    some = double[:, :, 3:].flatten()
    one = torch.cat([some, torch.tensor([5.0]).double()])
    agree(y, rows(double * 2), 1e-5)
    agree(z, {"sum": one.sum(), "max": one.max(), "min": one.min()}[kind], 1e-5)


@pytest.mark.filterwarnings("ignore:alloc_reducer:DeprecationWarning")
def test_reducers_of_the_older_form():
    @T.prim_func
    def older(X: T.Tensor((64, 128), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as _:
            rows = T.alloc_reducer((64,), "float32", op="sum", replication="all")
            T.clear(rows)
            for i, j in T.Parallel(64, 128):
                rows[i] += X[i, j] * X[i, j]
            T.finalize_reducer(rows)
            T.copy(rows, Y)

    x, y = random(64, 128), torch.zeros(64)
    run(older, x, y)
    agree(y, x.double().pow(2).sum(1), 1e-6)


# atomic updates


def test_atomic_updates():
    @T.prim_func
    def atomics(X: T.Tensor((100,), "int32"), H: T.Tensor((8,), "int32"), L: T.Tensor((8,), "int32"), S: T.Tensor((8,), "int32")):  # fmt: skip  # noqa: E501
        with T.Kernel(4, threads=32) as bx:
            for i in T.Parallel(25):
                T.atomic_max(H[X[bx * 25 + i] % 8], X[bx * 25 + i])
                T.atomic_min(L[X[bx * 25 + i] % 8], X[bx * 25 + i])
                T.atomic_add(S[X[bx * 25 + i] % 8], X[bx * 25 + i])

    x = integers(-500, 500, 100)
    h, low, s = torch.full((8,), -9999).int(), torch.full((8,), 9999).int(), torch.zeros(8).int()
    run(atomics, x, h, low, s)
    groups = [x[torch.remainder(x, 8) == g] for g in range(8)]
    assert h.tolist() == [int(g.max()) for g in groups] and low.tolist() == [int(g.min()) for g in groups]
    assert s.tolist() == [int(g.sum()) for g in groups]


def test_an_atomic_update_gives_what_was_there():
    @T.prim_func
    def tickets(counter: T.Tensor((1,), "int32"), Y: T.Tensor((16,), "int32")):
        with T.Kernel(16, threads=32) as bx:
            if T.get_thread_binding() == 0:
                ticket = T.atomic_add(counter[0], 1, return_prev=True)
                Y[ticket] = bx + 1

    counter, y = torch.zeros(1).int(), torch.zeros(16).int()
    run(tickets, counter, y)
    assert counter.item() == 16 and sorted(y.tolist()) == list(range(1, 17))


def test_memory_that_is_written_and_read_again():
    @T.prim_func
    def again(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64) as _:
            for i in T.Parallel(64):
                X[i] = X[i] + 1
            T.sync_threads()
            for i in T.Parallel(64):
                Y[i] = X[63 - i]

    x, y = integers(-50, 50, 64), torch.zeros(64).int()
    expected = (x + 1).flip(0)
    run(again, x, y)
    assert torch.equal(y, expected)
    ptx = compile_for_gpu(tle_raw.fragment(again)).asm["ptx"]
    assert ptx.index("st.global") < ptx.index("bar.sync") < ptx.rindex("ld.global")


def test_strided_memory():
    s = T.dynamic("s")

    @T.prim_func
    def strided(X: T.StridedTensor((20, 30), (s, 1), "float32"), Y: T.Tensor((20, 30), "float32")):
        with T.Kernel(1, threads=64) as _:
            for i, j in T.Parallel(20, 30):
                Y[i, j] = X[i, j]

    x, y = random(20, 64)[:, :30], torch.zeros(20, 30)
    fragment = tle_raw.fragment(strided)
    assert [p.name for p in fragment.signature.parameters] == ["X", "Y", "s"]
    fragment.as_kernel()(x, y)
    assert torch.equal(y, x)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_eight_bit_floats_are_zero_beyond_the_bounds(dtype):
    @T.prim_func
    def rows(X: T.Tensor((33, 40), dtype), Y: T.Tensor((48, 64), "float32")):
        with T.Kernel(3, threads=64) as bx:
            tile = T.alloc_shared((16, 64), dtype)
            T.copy(X[bx * 16, 0], tile)
            for i, j in T.Parallel(16, 64):
                Y[bx * 16 + i, j] = T.cast(tile[i, j], "float32") + 1.0

    x, y = random(33, 40).to(getattr(torch, dtype)), torch.zeros(48, 64)
    run(rows, x, y)
    expected = torch.ones(48, 64)
    expected[:33, :40] += x.float()
    assert torch.equal(y, expected)
    assert compile_for_gpu(tle_raw.fragment(rows, route="traced")).asm["cubin"]
