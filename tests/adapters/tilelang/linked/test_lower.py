"""TileLang's lowering without a GPU: arguments in the kernel's order, extents, memory, refusals."""

import pytest

pytest.importorskip("tilelang")

import tilelang.language as T

from tests.adapters.tilelang.linked import kernels
from tests.adapters.tilelang.linked.linking import bound_of
from tle_raw.adapters.tilelang.linked import Linkable, lower
from tle_raw.adapters.tilelang.linked.compile_linked import linked_unit
from tle_raw.adapters.tilelang.linked.lower import refused
from tle_raw.errors import (
    CompilationFailed,
    SignatureMismatchError,
    SourceLocation,
    UnsupportedFeatureError,
)
from tle_raw.fragments.bound import BoundParameter, BoundSignature
from tle_raw.fragments.dtypes import parse_dtype
from tle_raw.targets.base import DeviceCodeWanted

pytestmark = pytest.mark.one_triton


def names(lowered) -> list[tuple[str, str]]:
    return [(a.kind, a.name) for a in lowered.arguments]


def test_arguments_are_in_the_kernels_own_order():
    found = lower(kernels.histogram(), "sm_80")
    assert names(found) == [("data", "H"), ("data", "S"), ("data", "X")]
    assert found.grid == ("16", "1", "1") and found.block == (128, 1, 1) and found.shared == 0


def test_dynamic_dims_follow_the_scalars_and_give_the_grid():
    found = lower(kernels.axpy(), "sm_90a")
    assert sorted(names(found)) == [("data", "X"), ("data", "Y"), ("dim", "n"), ("scalar", "alpha")]
    n = names(found).index(("dim", "n"))
    assert found.grid[0] == f"((((int)k{n}) + 1023) / 1024)"


def test_dynamic_strides_are_arguments():
    s = T.dynamic("s")

    @T.prim_func
    def strided(X: T.StridedTensor((64, 32), (s, 1), "float32"), Y: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128) as _:
            for i, j in T.Parallel(64, 32):
                Y[i, j] = X[i, j]

    assert ("stride", "s") in names(lower(strided, "sm_80"))


@pytest.mark.parametrize("arch, words", [("sm_80", "mma_sync"), ("sm_90a", "wgmma"), ("sm_120a", "mma_sync")])
def test_neither_descriptors_nor_more_threads(arch, words):
    found = lower(kernels.gemm(), arch)
    assert words in found.text and "cp_async" in found.text and "CUtensorMap" not in found.text
    assert found.threads == 128 and found.shared == 49152


def test_a_pipelined_loop_of_dynamic_length_is_printed():
    @T.prim_func
    def triangular(
        A: T.Tensor((256, 256), "float16"), B: T.Tensor((256, 64), "float16"), C: T.Tensor((256, 64), "float32")
    ):
        with T.Kernel(4, threads=128) as bx:
            a, b = T.alloc_shared((64, 64), "float16"), T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(bx + 1, num_stages=2):
                T.copy(A[bx * 64, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C[bx * 64, 0])

    text = lower(triangular, "sm_80").text
    assert "cp_async_wait<1>" in text and "cp_async_wait<0>" in text


def test_the_users_own_settings_hold():
    found = lower(kernels.gemm(), "sm_90a", {"tl.disable_wgmma": True})
    assert "wgmma" not in found.text and "mma_sync" in found.text


def test_several_kernels_are_refused():
    @T.prim_func
    def two(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128) as _:
            for i in T.Parallel(128):
                Y[i] = X[i]
        with T.Kernel(1, threads=128) as _:
            for i in T.Parallel(128):
                Y[i] = Y[i] + X[i]

    with pytest.raises(UnsupportedFeatureError, match="2 kernels"):
        lower(two, "sm_80")


def test_tilelangs_own_refusal_is_told():
    @T.prim_func
    def wrong(X: T.Tensor((128, 3), "float32"), Y: T.Tensor((128, 3), "float32")):
        with T.Kernel(1, threads=128) as _:
            a = T.alloc_shared((128, 3), "float16")
            b = T.alloc_shared((3, 128), "float16")
            c = T.alloc_fragment((128, 128), "float32")
            T.gemm(a, b, c)  # no depth of three

    with pytest.raises(CompilationFailed, match="TileLang refused the PrimFunc: Unsupported k_dim 3"):
        lower(wrong, "sm_80")


def test_the_line_that_tilelang_names_is_the_errors_place():
    error = refused(ValueError(f"no layout\nCheck failed: because\n  --> {__file__}:21:5"))
    assert error.context.source == SourceLocation(__file__, 21, 5)


def bound(*parameters: tuple[str, str, str], **names: int) -> BoundSignature:
    return BoundSignature(
        "axpy",
        tuple(BoundParameter(name, kind, "InOut", parse_dtype(dtype)) for name, kind, dtype in parameters),
        None,
        tuple(names.items()),
    )


POINTERS = (("X", "pointer", "f32"), ("Y", "pointer", "f32"))


def unit(signature: BoundSignature, **places) -> str:
    source, _ = bound_of(kernels.axpy())
    tags = {f"blockIdx.{axis}": place for axis, place in places.items()}
    return linked_unit(source, Linkable(kernels.axpy(), tags), signature, DeviceCodeWanted("sm_80")).unit.text


def test_a_dim_may_be_a_constant_of_the_signature():
    assert "{4096}" in unit(bound(*POINTERS, ("alpha", "scalar", "f32"), n=4096))


def test_a_block_index_comes_from_where_it_is_said_to():
    signature = bound(*POINTERS, ("alpha", "scalar", "f32"), ("n", "scalar", "i32"), ("row", "scalar", "i32"))
    assert "block = {(unsigned)p4, " in unit(signature, x="row")
    assert "block = {(unsigned)__nvvm_read_ptx_sreg_ctaid_y(), " in unit(signature, x=1)
    assert "block = {(unsigned)__nvvm_read_ptx_sreg_ctaid_x(), " in unit(signature)


@pytest.mark.parametrize(
    "signature, named",
    [
        (bound(*POINTERS, ("alpha", "scalar", "f32")), "dim `n`"),
        (bound(*POINTERS, ("alpha", "scalar", "f64"), ("n", "scalar", "i32")), "`alpha`"),
        (bound(("X", "pointer", "f16"), *POINTERS[1:], ("alpha", "scalar", "f32"), ("n", "scalar", "i32")), "`X`"),
        (bound(("X", "scalar", "f32"), *POINTERS[1:], ("alpha", "scalar", "f32"), ("n", "scalar", "i32")), "`X`"),
    ],
)
def test_a_signature_that_does_not_fit_is_refused(signature, named):
    with pytest.raises(SignatureMismatchError, match=named):
        unit(signature)


def test_a_block_index_from_nowhere_is_refused():
    with pytest.raises(SignatureMismatchError, match="`nobody`"):
        unit(bound(*POINTERS, ("alpha", "scalar", "f32"), ("n", "scalar", "i32")), x="nobody")


def test_a_tile_is_refused():
    with pytest.raises(UnsupportedFeatureError, match="`t` is a tile"):
        tile = BoundParameter("t", "tile", "In", parse_dtype("f32"), (64,))
        signature = bound(*POINTERS, ("alpha", "scalar", "f32"), ("n", "scalar", "i32"))
        unit(BoundSignature("axpy", (*signature.parameters, tile)))


def test_outputs_that_the_host_would_make_are_arguments():
    made = kernels.axpy().with_attr("tilelang_callee_allocated_outputs", 1).with_attr("tilelang_out_idx", [-1])
    assert ("data", "Y") in names(lower(made, "sm_80"))
