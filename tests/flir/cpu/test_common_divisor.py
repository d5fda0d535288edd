"""Vectors divided by one number: the bits of a division, without one."""

import subprocess
import sys

import numpy
import pytest

pytest.importorskip("torch_mlir.ir")

from tests.flir.cpu.linalg_kernels import Kernel, kernel_text, load, store, store_tile
from tle_raw.flir.cpu.common_divisor import multiply_by_reciprocals
from tle_raw.flir.cpu.lower_to_llvm import parse
from tle_raw.flir.cpu.vectorise import vectorise
from tle_raw.host.cpu import host_cpu

pytestmark = pytest.mark.one_triton
COUNT = 1 << 16
INF, NAN = numpy.inf, numpy.nan


def text(count=COUNT, kind="f32", numerator="%v", denominator="%d"):
    body = "%o = arith.index_cast %i0 : index to i64" + load("v", "%x", "%o", kind)
    body += f"%q = arith.divf {numerator}, {denominator} : {kind}\n" + store("%q", "%y", "%o", kind)
    before = f"%d = llvm.load %by : !llvm.ptr -> {kind}\n"
    return kernel_text("%x: !llvm.ptr, %y: !llvm.ptr, %by: !llvm.ptr", before + store_tile((count,), body))


def rewritten(source):
    from torch_mlir import ir

    with ir.Context(), ir.Location.unknown():
        module = parse(source)
        vectorise(module, vector_bytes=64)
        multiply_by_reciprocals(module)
        module.operation.verify()
        return str(module)


def check(folder, source, checks):
    (folder / "checks").write_text("\n".join(line.strip() for line in checks.strip().splitlines()))
    command = [sys.executable, "-m", "filecheck", str(folder / "checks")]
    done = subprocess.run(command, input=rewritten(source), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_reciprocal_is_made_once_and_the_division_is_the_way_out(tmp_path):
    check(
        tmp_path,
        text(),
        """
        // CHECK: %[[D:.*]] = llvm.load
        // CHECK: arith.divf %{{.*}}, %[[D]] : f32
        // CHECK: scf.for
        // CHECK-COUNT-3: math.fma {{.*}} : vector<64xf32>
        // CHECK: %[[ANY:.*]] = vector.reduction <or>
        // CHECK: scf.if %[[ANY]]
        // CHECK: arith.divf {{.*}} : vector<64xf32>
        // CHECK: else
        """,
    )


@pytest.mark.parametrize(
    ("kind", "numerator", "denominator"), [("f64", "%v", "%d"), ("f16", "%v", "%d"), ("f32", "%d", "%v")]
)
def test_other_divisions_stay(kind, numerator, denominator):
    found = rewritten(text(kind=kind, numerator=numerator, denominator=denominator))
    assert "math.fma" not in found
    assert found.count("arith.divf") == 1


@pytest.fixture(scope="module")
def divide():
    kernel = Kernel(text())

    def run(a, d):
        quotient = numpy.empty(COUNT, "f4")
        kernel(numpy.ascontiguousarray(a, "f4"), quotient, numpy.array([d], "f4"))
        return quotient

    return run


def assert_same_bits(divide, a, d):
    with numpy.errstate(all="ignore"):
        got, want = divide(a, d), a.astype("f4") / numpy.float32(d)
    same = (got.view("u4") == want.view("u4")) | (numpy.isnan(got) & numpy.isnan(want))
    assert same.all(), (a[~same][:4], d, got[~same][:4], want[~same][:4])


DIVISORS = [1.0, 3.0, 4096.0, 1000.0, 0.1, 2.0**-60, 2.0**22, 2.0**-61, 2.0**23, 6.0, 1e-30, 1e30, 3.4e38]
DIVISORS += [2.0**-126, 2.0**-149, 3 * 2.0**-149, 0.0, -0.0, INF, -INF, NAN, -3.0, -4096.0, 1.9999999, 1.0000001]


@pytest.mark.parametrize("d", DIVISORS)
def test_every_kind_of_dividend_by_every_kind_of_divisor(divide, d):
    random = numpy.random.default_rng(0)
    patterns = random.integers(0, 1 << 32, COUNT, dtype="u8").astype("u4").view("f4")
    assert_same_bits(divide, patterns, d)
    assert_same_bits(divide, numpy.exp(-random.uniform(0, 60, COUNT)), d)
    # One odd lane in a vector of ordinary ones, and vectors of zeros.
    ordinary = random.uniform(-5, 5, COUNT).astype("f4")
    ordinary[::97] = numpy.resize(
        [0, -0.0, INF, -INF, NAN, 1e-45, -1e-38, 3e38, 2.0**-80, 2.0**-81], len(ordinary[::97])
    )
    ordinary[1024:2048] = 0.0
    ordinary[2048:4096] = -0.0
    assert_same_bits(divide, ordinary, d)


def test_random_divisors(divide):
    random = numpy.random.default_rng(1)
    for d in numpy.exp(random.uniform(-40, 15, 200)).astype("f4"):
        assert_same_bits(divide, random.standard_normal(COUNT).astype("f4"), d)


@pytest.mark.parametrize("steps", range(1, 9))
def test_all_dividends_by_the_divisors_next_to_two(divide, steps):
    """The ones that the argument leaves open."""
    d = numpy.float32(2 - steps * 2.0**-23)
    for start in range(0, 1 << 23, COUNT):
        a = (numpy.arange(start, start + COUNT, dtype="u4") | 0x3F800000).view("f4")
        assert_same_bits(divide, a, d)


@pytest.mark.parametrize("count", [129, 777, 4095])
def test_odd_sizes(count):
    kernel = Kernel(text(count))
    a, d = numpy.random.default_rng(2).standard_normal(count).astype("f4"), numpy.array([7.3], "f4")
    quotient = numpy.full(count + 64, 5, "f4")
    kernel(a, quotient, d)
    assert numpy.array_equal(quotient[:count], a / d)
    assert numpy.all(quotient[count:] == 5)


@pytest.mark.skipif(host_cpu().vector_bytes < 64, reason="the host divides fast enough")
def test_the_loop_does_not_divide_on_the_way_that_it_takes():
    lines = Kernel(text()).assembly.splitlines()
    divisions = [i for i, line in enumerate(lines) if "vdivps" in line]
    assert divisions
    assert any("kortest" in line or "vptest" in line for line in lines[: divisions[0]])
