"""The route of a region: traced where that reaches, else linked; the report says which, and why."""

import pytest
import tilelang.language as T
import torch
import triton
import triton.language as tl

import tle_raw
from tests.adapters.tilelang import kernels
from tests.adapters.tilelang.conftest import compile_for_gpu
from tests.adapters.tilelang.linked.kernels import foreign_call
from tests.support import compile_kernel
from tle_raw.errors import ArgumentTypeError, DialectError, SignatureError, UntraceableError


def by_threads():
    """Written for the threads of a block: block tensors cannot say it."""

    @T.prim_func
    def by_threads(A: T.Tensor((1024,), "float32"), B: T.Tensor((1024,), "float32")):
        with T.Kernel(8, threads=128) as bx:
            tx = T.get_thread_binding()
            B[bx * 128 + tx] = A[bx * 128 + tx] * 2.0

    return by_threads


def test_what_cannot_be_traced_is_linked_and_the_report_says_why():
    report = tle_raw.report(compile_for_gpu(tle_raw.fragment(by_threads())))
    (region,) = report.regions
    assert region.route == "linked" and region.inlined and report.one_kernel
    assert "`tx` is an index of one thread" in region.reason and "test_routes.py" in region.reason
    assert "is linked: TileLang's traced route cannot express this" in str(report)


def test_nothing_of_a_failed_trace_is_left():
    @T.prim_func
    def half_way(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128) as _:
            for i in T.Parallel(128):
                B[i] = A[i] + 41.0
            tx = T.get_thread_binding()
            B[tx] = B[tx] + 1.0

    text = compile_for_gpu(tle_raw.fragment(half_way)).asm["ttir"]
    assert "4.1" not in text and "tt.load" not in text and "tt.store" not in text


@pytest.mark.parametrize("route", ["traced", "linked"])
def test_a_route_can_be_forced(route):
    report = tle_raw.report(compile_for_gpu(tle_raw.fragment(kernels.add(1024, 1024), route=route)))
    assert [r.route for r in report.regions] == [route] and report.one_kernel
    assert report.regions[0].reason == ""


def test_the_traced_route_alone_fails_where_it_does_not_reach():
    with pytest.raises(Exception, match="an index of one thread"):
        compile_for_gpu(tle_raw.fragment(by_threads(), route="traced"))


def test_tiles_of_the_caller_may_be_forced_to_be_traced():
    """By default they are linked, as tests/adapters/tilelang/linked/test_tiles.py shows."""
    fragment = tle_raw.fragment(foreign_call(), tiles=["A"], route="traced")
    with pytest.raises(UntraceableError, match="call_extern"):
        _trace_alone(fragment)


def _trace_alone(fragment):
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    @triton.jit
    def kernel(b):
        fragment(tl.full((128,), 1.0, tl.float32), b)

    try:
        triton.compile(ASTSource(kernel, {"b": "*fp32"}), target=GPUTarget("cuda", 90, 32))
    except Exception as e:
        found = e
        while found is not None and not isinstance(found, UntraceableError):
            found = found.__cause__ or found.__context__
        raise found or e from None


def test_on_the_cpu_too_what_cannot_be_traced_is_linked(on_cpu):
    a, b = torch.randn(1024, generator=torch.Generator().manual_seed(1)), torch.zeros(1024)
    report = tle_raw.report(tle_raw.fragment(by_threads()).as_kernel()(a, b))
    (region,) = report.regions
    assert torch.equal(b, a * 2) and region.route == "linked" and region.threads == 128
    assert "`tx` is an index of one thread" in region.reason and "a team of 128 threads (linked)" in str(report)


def test_a_traced_region_has_nothing_to_compile_alone():
    with pytest.raises(DialectError, match="is traced into its kernel"):
        tle_raw.fragment(kernels.add(), route="traced").compile("cuda:90")


@pytest.fixture
def failing_gathers(monkeypatch):
    """Gathers as Triton has them, at which a pass of versions before 3.9 fails."""
    from tle_raw.adapters.common import gathers

    if not gathers._FAILS:
        pytest.skip("this Triton compiles them")
    monkeypatch.setattr(gathers, "_FAILS", False)
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")


def one_row(**options):
    @T.prim_func
    def one_row(X: T.Tensor((1, 64), "float32"), Y: T.Tensor((1, 64), "float32")):
        with T.Kernel(1, threads=128):
            s = T.alloc_shared((1, 72), "float32")
            r = T.alloc_fragment((1, 64), "float32")
            for i, j in T.Parallel(1, 64):
                s[i, j] = X[i, j]
            for i, j in T.Parallel(1, 64):
                r[i, j] = s[i, j] * 2.0
            T.copy(r, Y)

    return tle_raw.fragment(one_row, **options)


def compiled_among_triton(region):
    @triton.jit
    def kernel(x, y):
        region(x, y)
        tl.store(x, tl.load(y + 3))

    return compile_kernel(kernel, {"x": "*fp32", "y": "*fp32"})


def test_what_tritons_passes_fail_on_is_linked(failing_gathers):
    report = tle_raw.report(compiled_among_triton(one_row()))
    (region,) = report.regions
    assert region.route == "linked" and region.inlined and report.one_kernel
    assert "Triton's passes fail" in region.reason and "test_routes.py" in region.reason
    assert "linked" in str(tle_raw.report(compile_for_gpu(one_row())))


def test_where_the_user_forced_the_traced_route_it_is_an_error_at_the_call(failing_gathers):
    with pytest.raises(UntraceableError, match="Triton's passes fail on the kernel into which `one_row`") as caught:
        compiled_among_triton(one_row(route="traced"))
    assert "region(x, y)" in str(caught.value) and __file__ in str(caught.value)


def test_elements_of_six_bits_are_refused_with_a_hint():
    @T.prim_func
    def sixths(S: T.Tensor((64,), "float6_e2m3fn"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                Y[i] = T.Cast("float32", S[i])

    with pytest.raises(SignatureError, match="float6_e2m3fn") as caught:
        tle_raw.fragment(sixths)
    assert "uint8" in caught.value.hint


def scaled(with_scale):
    @T.prim_func
    def scaled(X: T.Tensor((64,), "float32"), S: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                if with_scale:
                    Y[i] = X[i] * S[i]
                else:
                    Y[i] = X[i]

    return tle_raw.fragment(scaled).as_kernel()


def test_none_for_a_buffer_that_is_not_touched(on_cpu):
    x, y = torch.rand(64), torch.zeros(64)
    scaled(False)(x, None, y)
    assert torch.equal(x, y)
    with pytest.raises(ArgumentTypeError, match="`S` is a buffer"):
        scaled(True)(x, None, y)
