"""What no user meant to pass is an error of this package: it says what was expected."""

from types import SimpleNamespace

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tests.support import cause_of, compile_kernel
from tle_raw import InOut, Out, Scalar, Tile, TLEError
from tle_raw.errors import ReportError, SignatureError

SOURCE = 'extern "C" __device__ void twice(float* t) { t[threadIdx.x] *= 2; }'


def stub(t: InOut[Tile["f32", "N"]]): ...


twice = tle_raw.fragment(SOURCE, dialect="cuda", symbol="twice", signature=stub)


@tle_raw.dialect("cuda", source='extern "C" __device__ void spread(float* o, float* t, int n) {}')
def spread(o: Out[Tile["f32", "N"]], t: Tile["f32", "M"], n: Scalar["i32"]): ...


def annotated(type_):
    def function(t): ...

    function.__annotations__ = {"t": InOut[type_]}
    return tle_raw.fragment(SOURCE, dialect="cuda", signature=function)


STRANGERS = [0, 1.5, "", "\n", b"abc", [], {}, (), set(), object(), int, len, np, np.zeros(3), tl.load, iter([]), ...]


@pytest.mark.parametrize("stranger", STRANGERS, ids=lambda s: type(s).__name__)
@pytest.mark.every_triton(6)
def test_strangers_are_refused_by_name(stranger):
    for use in (
        lambda: tle_raw.fragment(stranger),
        lambda: tle_raw.fragment(stranger, signature=stub),
        lambda: tle_raw.fragment(SOURCE, dialect="cuda", signature=stranger),
        lambda: tle_raw.fragment(SOURCE, dialect=stranger, signature=stub),
        lambda: tle_raw.fragment(SOURCE, dialect="cuda", signature=stub, nonsense=stranger),
        lambda: tle_raw.dialect(stranger)(stub),
        lambda: tle_raw.dialect("cuda", source=SOURCE)(stranger),
        lambda: tle_raw.report(stranger),
        lambda: Tile[stranger, "N"],
        lambda: Tile[stranger],
        lambda: annotated(stranger),
        lambda: twice.compile(target=stranger, N=64),
        lambda: twice.compile(N=stranger),
        lambda: tle_raw.call(twice, stranger),
        lambda: setattr(tle_raw.knobs, "target", stranger),
    ):
        with pytest.raises(TLEError):
            use()


def test_a_home_that_nobody_has():
    with pytest.raises(TLEError, match="is no path here"):
        tle_raw.fragment("~nobody-of-that-name/x.cu", signature=stub)


def test_a_signature_of_what_is_no_function():
    with pytest.raises(SignatureError, match="read from a function, got int"):
        tle_raw.fragment(SOURCE, dialect="cuda", signature=3)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "got nothing"),
        (SimpleNamespace(metadata=1, asm=2), "got SimpleNamespace"),
        (SimpleNamespace(metadata=SimpleNamespace(), asm={}), "got SimpleNamespace"),
        (triton.jit(stub), "launch it first"),
    ],
)
def test_a_report_says_what_it_needs(value, said):
    with pytest.raises(ReportError, match=said):
        tle_raw.report(value)


@triton.jit
def odd(x_ptr, B: tl.constexpr, HOW: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, B))
    if HOW == 0:
        tle_raw.call(twice, [x], output_indices=["a"])
    elif HOW == 1:
        tle_raw.call(twice, [x], [None])
    elif HOW == 2:
        tle_raw.call(twice, ["a"])
    elif HOW == 3:
        tle_raw.call()
    elif HOW == 4:
        tle_raw.call(twice, [x], bogus=1)
    elif HOW == 5:
        spread(x, 1, shape=("a",))
    elif HOW == 6:
        spread(x, 1, shape=(1 << 40,))
    elif HOW == 7:
        tle_raw.call(3, [x])
    elif HOW == 8:
        tle_raw.call(twice, [x], output_indices=[99])


@pytest.mark.parametrize("how", range(9))
def test_odd_calls_are_errors_of_this_package(how):
    with pytest.raises(triton.CompilationError) as error:
        compile_kernel(odd, {"x_ptr": "*fp32"}, {"B": 64, "HOW": how})
    assert isinstance(cause_of(error.value), TLEError)


def test_the_public_names_are_shown():
    assert {*tle_raw.__all__, "errors", "language", "mlir", "pycuda"} <= set(dir(tle_raw))
    assert all(hasattr(tle_raw, name) for name in dir(tle_raw))
