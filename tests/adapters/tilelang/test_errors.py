"""Bad input: each has its named error, with the TileLang source line where there is one."""

import inspect
import re
from typing import Any

import pytest
import tilelang.language as T
import torch
import triton
from tilelang.language.builtin import ds_read_tr16_b64

import tle_raw
from tests.adapters.tilelang import kernels
from tests.adapters.tilelang.conftest import compile_for_gpu
from tle_raw.adapters.common import tested_package
from tle_raw.adapters.tilelang import installed
from tle_raw.adapters.tilelang.installed import check_version
from tle_raw.errors import (
    ArgumentCountError,
    ArgumentTypeError,
    CompilationFailed,
    DialectError,
    FragmentSourceError,
    RegionError,
    ShapeError,
    SignatureError,
    TLEError,
    ToolchainError,
    UnsupportedFeatureError,
    UntraceableError,
)

pytestmark = pytest.mark.usefixtures("on_cpu")


def line_of(text: str) -> int:
    """The one line of this file that holds a text, but for this call's own."""
    lines = inspect.getsource(inspect.getmodule(line_of)).splitlines()
    found = [n for n, line in enumerate(lines, 1) if text in line and not re.search(r"line_of\(|untraceable\(", line)]
    assert len(found) == 1, found
    return found[0]


def untraceable(prim_func: Any, text: str, words: str) -> None:
    """Tracing fails at the line that holds ``text``, in these words; and the kernel's own line is told too."""
    with pytest.raises(Exception, match=words) as caught:
        compile_for_gpu(tle_raw.fragment(prim_func, route="traced"))
    error: Any = caught.value
    while not isinstance(error, UntraceableError):
        error = error.__cause__ or error.__context__
    assert error.context.source.file == __file__ and error.context.source.line == line_of(text)
    assert text in str(error) and error.context.call_site is not None


@pytest.mark.parametrize("found", ["0.1.14", "0.2.0", "1.0", "0.0.1"])
def test_versions_outside_the_tested_range(found):
    with pytest.raises(ToolchainError, match="outside the tested range") as caught:
        check_version(found)
    assert found in str(caught.value) and "pip install 'tilelang>=0.1.15,<0.2'" in str(caught.value)


@pytest.mark.parametrize("found", ["0.1.15", "0.1.16.post1", "0.1.15+cu128"])
def test_versions_inside_the_tested_range(found):
    check_version(found)


def test_a_fragment_of_another_version_is_refused(monkeypatch):
    prim_func = kernels.add()
    monkeypatch.setattr(tested_package, "version", lambda package: "0.3.0")
    installed.load_tilelang.cache_clear()
    with pytest.raises(ToolchainError, match="outside the tested range"):
        tle_raw.fragment(prim_func)


@pytest.mark.parametrize("route", [None, "traced", "linked"])
def test_no_kernel(route):
    @T.prim_func
    def nothing(A: T.Tensor((8,), "float32")):
        A[0] = 1.0

    with pytest.raises(FragmentSourceError, match="holds no T") as caught:
        tle_raw.fragment(nothing, route=route)
    assert caught.value.context.source.line == line_of("def nothing(")


@pytest.mark.parametrize("route", [None, "traced", "linked"])
def test_several_kernels(route):
    @T.prim_func
    def two(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64) as _:  # one launch
            for i in T.Parallel(64):
                A[i] = 1.0
        with T.Kernel(2, threads=64) as _:  # another launch
            for i in T.Parallel(64):
                A[i] = 2.0

    with pytest.raises(FragmentSourceError, match="several T") as caught:
        tle_raw.fragment(two, route=route)
    first, second = line_of("# one launch"), line_of("# another launch")
    assert caught.value.context.source.line == second
    assert caught.value.table[0].got == f"2, in lines {first} and {second}"


@pytest.mark.parametrize("route", [None, "traced", "linked"])
def test_code_for_the_host(route):
    @T.prim_func
    def host(A: T.Tensor((64,), "float32"), n: T.int32):
        A[0] = 3.0  # on the host
        with T.Kernel(1, threads=64) as _:
            for i in T.Parallel(64):
                A[i] = 1.0

    with pytest.raises(UnsupportedFeatureError, match="code for the host") as caught:
        tle_raw.fragment(host, route=route)
    assert caught.value.context.source.line == line_of("A[0] = 3.0  # on the host")


def of_threads(threads):
    @T.prim_func
    def of_threads(A: T.Tensor((96,), "float32")):
        with T.Kernel(1, threads=threads) as _:
            for i in T.Parallel(96):
                A[i] = 1.0

    return tle_raw.fragment(of_threads, route="linked")


def test_threads_that_are_not_those_of_the_launch():
    with pytest.raises(RegionError, match="a block of another size") as caught:
        compile_for_gpu(of_threads(64), num_warps=4)
    assert "num_warps=2" in caught.value.hint
    assert caught.value.context.source.line == line_of("def of_threads(A")


def test_threads_that_no_launch_of_tritons_has_are_those_of_a_kernel_without_tensors():
    assert ".reqntid 96\n" in compile_for_gpu(of_threads(96)).asm["ptx"]


def test_a_launch_that_only_tilelang_makes():
    @T.prim_func
    def clustered(A: T.Tensor((128,), "float32")):
        with T.Kernel(2, threads=128, cluster_dims=(2, 1, 1)) as bx:
            for i in T.Parallel(64):
                A[bx * 64 + i] = 1.0

    with pytest.raises(UnsupportedFeatureError, match="clusters of blocks") as caught:
        tle_raw.fragment(clustered, route="linked").compile("cuda:90")
    assert caught.value.context.source.line == line_of("def clustered(") and "cluster_dims" in caught.value.hint


def test_what_is_no_prim_func():
    with pytest.raises(DialectError, match="which dialect int belongs to"):
        tle_raw.fragment(3)
    with pytest.raises(FragmentSourceError, match="are PrimFuncs, got int"):

        @tle_raw.dialect("tilelang")
        def three():
            return 3

    with pytest.raises(DialectError, match="cannot take 3"):
        tle_raw.dialect("tilelang")(3)


def test_a_builder_without_its_arguments():
    with pytest.raises(FragmentSourceError, match="missing") as caught:
        tle_raw.dialect("tilelang")(lambda m, n: kernels.add(m, n))
    assert "arguments=dict(" in str(caught.value)
    with pytest.raises(FragmentSourceError, match="built already"):
        tle_raw.fragment(kernels.add(), arguments={"m": 1})


def test_a_builder_that_tilelang_refuses():
    with pytest.raises(CompilationFailed, match="TileLang refuses"):
        tle_raw.dialect("tilelang")(lambda: T.prim_func(7))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tile": ["A"]}, "no option `tile`"),
        ({"tiles": "A"}, "tiles= has a wrong value"),
        ({"tiles": ["A", "A"]}, "tiles= has a wrong value"),
        ({"route": "printed"}, "route= has a wrong value"),
        ({"grid": {"bx": 4}}, "grid= has a wrong value"),
        ({"grid": ["bx"]}, "grid= has a wrong value"),
        ({"grid": {"bq": 0}}, "no block index"),
        ({"grid": {"bx": "A"}}, "is taken"),
        ({"grid": {"bx": "at", "by": "at"}}, "is taken"),
        ({"arguments": 3}, "arguments= has a wrong value"),
    ],
)
def test_options(options, words):
    with pytest.raises(DialectError, match=words):
        tle_raw.fragment(kernels.add(), **options)


def test_tiles_that_no_buffer_has():
    with pytest.raises(SignatureError, match="no global buffer") as caught:
        tle_raw.fragment(kernels.add(), tiles=["Q"])
    assert "A, B, C" in str(caught.value)


def test_a_tile_cannot_stand_for_a_moving_piece():
    with pytest.raises(SignatureError, match="moves with the loop over `i`") as caught:
        tle_raw.fragment(kernels.gemm(), tiles=["A"])
    assert caught.value.context.source.text.strip() == "T.copy(A[by * bm, i * bk], a)"


def test_a_tile_cannot_stand_for_two_pieces():
    @T.prim_func
    def twice(A: T.Tensor((128,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64) as _:
            for i in T.Parallel(64):
                B[i] = A[i] + A[i + 64]

    with pytest.raises(SignatureError, match="differs from one use to the next"):
        tle_raw.fragment(twice, tiles=["A"])


def test_a_tile_that_is_gathered_from():
    @T.prim_func
    def gathered(A: T.Tensor((64,), "float32"), at: T.Tensor((64,), "int32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64) as _:
            for i in T.Parallel(64):
                B[i] = A[at[i]]

    with pytest.raises(SignatureError, match="at an index that is no box"):
        tle_raw.fragment(gathered, tiles=["A"])


def test_arrays_that_do_not_fit():
    kernel = tle_raw.fragment(kernels.add(10, 20)).as_kernel()
    a, b, c = (torch.zeros(10, 20) for _ in range(3))
    with pytest.raises(ShapeError, match="does not fit") as caught:
        kernel(a, torch.zeros(20, 10), c)
    assert "(10, 20)" in str(caught.value) and "(20, 10)" in str(caught.value)
    with pytest.raises(ShapeError, match="strides of B"):
        kernel(a, torch.zeros(20, 10).T, c)
    with pytest.raises(ShapeError, match="another rank"):
        kernel(a, torch.zeros(200), c)
    with pytest.raises(ArgumentTypeError, match="another dtype"):
        kernel(a, b.half(), c)
    with pytest.raises(ArgumentTypeError, match="is a buffer"):
        kernel(a, 3, c)
    with pytest.raises(ArgumentCountError, match="takes 3 arguments, got 2"):
        kernel(a, b)


def test_sizes_that_differ_between_arrays():
    kernel = tle_raw.fragment(kernels.scaled_add()).as_kernel()
    with pytest.raises(ShapeError, match="does not fit"):
        kernel(torch.zeros(10), torch.zeros(11), 1.0)


def test_a_whole_kernel_has_no_caller():
    with pytest.raises(DialectError, match="has no caller"):
        tle_raw.fragment(kernels.gemm(), tiles=["C"]).as_kernel()


def test_a_call_that_does_not_fit():
    fragment = tle_raw.fragment(kernels.softmax(64, 64, 64), tiles=["X"])

    @triton.jit
    def kernel(x, y):
        fragment(x, y)

    with pytest.raises(Exception, match="a pointer where a tile belongs"):
        kernel[(1,)](torch.zeros(64, 64), torch.zeros(64, 64))


def test_the_index_of_a_thread():
    @T.prim_func
    def threads(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64) as _:
            tx = T.get_thread_binding()
            A[tx] = 1.0  # one thread

    untraceable(threads, "A[tx] = 1.0  # one thread", "an index of one thread")


def test_hardware_that_block_tensors_do_not_have():
    @T.prim_func
    def barrier(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64) as _:
            ready = T.alloc_barrier(1)
            T.mbarrier_arrive(ready[0])
            for i in T.Parallel(64):
                A[i] = 1.0

    untraceable(barrier, "T.mbarrier_arrive(ready[0])", "mbarrier")


def test_code_in_another_language():
    @T.prim_func
    def external(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64) as _:
            for i in T.Parallel(64):
                A[i] = T.call_extern("float32", "sinf", A[i])

    untraceable(external, 'A[i] = T.call_extern("float32", "sinf", A[i])', "call_extern")


def test_all_obstacles_are_told_line_by_line():
    @T.prim_func
    def obstacles(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64) as _:
            ready = T.alloc_barrier(1)
            T.mbarrier_wait_parity(ready[0], 0)
            for i in T.Parallel(64):
                A[i] = T.call_extern("float32", "tanf", A[i])  # the second
            for k in T.serial(4):
                found = T.call_extern("float32", "cosf", A[k])  # the third
                A[k] = found + 1.0

    with pytest.raises(Exception, match="mbarrier_wait_parity") as caught:
        compile_for_gpu(tle_raw.fragment(obstacles, route="traced"))
    for number in ("second", "third"):
        assert f"  | {__file__}:{line_of(f'# the {number}')}: the function tirx.call_extern" in str(caught.value)
    assert str(caught.value).count("  | ") == 2


def test_several_lanes_that_write_one_element():
    @T.prim_func
    def race(A: T.Tensor((64,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64) as _:
            for i in T.Parallel(64):
                B[0] = A[i]  # which one?

    untraceable(race, "B[0] = A[i]  # which one?", "one element of `B`")


def test_loops_that_break():
    @T.prim_func
    def broken(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64) as _:
            for k in T.serial(10):
                if k > 3:
                    break  # out of the loop
                A[k] = 1.0

    untraceable(broken, "break  # out of the loop", "break")


@pytest.mark.parametrize("route", [None, "traced", "linked"])
def test_operations_for_amd_only(route):
    @T.prim_func
    def amd(A: T.Tensor((64, 64), "float16")):
        with T.Kernel(1, threads=64) as _:
            a = T.alloc_shared((64, 64), "float16")
            T.copy(A, a)
            pair = ds_read_tr16_b64(a[0, 0])  # noqa: F841

    with pytest.raises(UnsupportedFeatureError, match="ds_read_tr16_b64 belongs to AMD GPUs") as caught:
        tle_raw.fragment(amd, route=route)
    assert caught.value.context.source.line == line_of("pair = ds_read_tr16_b64(a[0, 0])")


def test_every_error_is_one_of_ours():
    for kind in (UntraceableError, ToolchainError, SignatureError, FragmentSourceError):
        assert issubclass(kind, TLEError)
