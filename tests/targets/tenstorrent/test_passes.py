"""The fourteen passes: their order, what each leaves behind, what the verifier holds, and what is refused by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("tilelang")

import tilelang.language as T

import tle_raw
from tests.targets.tenstorrent import kernels
from tests.targets.tenstorrent.run_kernel import lower
from tle_raw.errors import DialectError, FragmentSourceError, LocalMemoryError, TLEError, VerificationError
from tle_raw.registry import register_target
from tle_raw.targets.tenstorrent.ir import Buffer, Call, Int
from tle_raw.targets.tenstorrent.passes import PASSES
from tle_raw.targets.tenstorrent.target import Tenstorrent
from tle_raw.targets.tenstorrent.verify import verify

pytestmark = pytest.mark.one_triton
PROTOCOL = ("cb_", "noc_", "tile_regs_", "pack_tile", "_init(", "kernel reader")


@pytest.fixture(autouse=True, scope="module")
def target():
    register_target(Tenstorrent())


@pytest.fixture(scope="module")
def program():
    register_target(Tenstorrent())
    return tle_raw.compile(kernels.softmax(100, 70, "float16").prim_func, "tenstorrent", core_grid=(2, 2))


def test_the_passes_and_their_stages():
    assert [each.stage for each in PASSES] == list("AAABBCCCDDDDDE")
    assert PASSES[5].name == "lower_shared_to_cb_v5" and PASSES[-1].name == "finalize_persistent_signature_tt"


def test_no_protocol_before_stage_d(program):
    for each in PASSES:
        dump = program.dumps[each.name]
        body = "\n".join(line for line in dump.splitlines() if " tt." not in line)
        found = [word for word in PROTOCOL if word in body]
        assert bool(found) == (each.stage in "DE"), (each.name, found)


def test_each_pass_leaves_its_attributes(program):
    left = {
        "infer_tt_layout_v5": "tt.buffer.A",
        "propagate_tt_layout_v5": "tt.cb.a",
        "attach_tensor_accessor_tt": "tt.tensor_accessor.A",
        "layout_aware_work_partition_tt_v5": "tt.runtime_args",
        "build_tile_dfg_tt": "tt.tile_dfg",
        "split_device_kernel": "tt.kernel_role",
    }
    names = [each.name for each in PASSES]
    for number, name in enumerate(names):
        if name in left:
            assert left[name] in program.dumps[name]
            assert number == 0 or left[name] not in program.dumps[names[number - 1]]


def test_the_verifier_refuses_protocol_in_the_middle(program):
    module = lower(kernels.softmax(100, 70, "float16").prim_func)
    broken = replace(module, body=(Call("cb_wait_front", (Buffer("a"), Int(1))),))
    with pytest.raises(VerificationError, match="stage D"):
        verify(broken, "C")


def test_the_same_kernel_gives_the_same_files(program):
    again = tle_raw.compile(kernels.softmax(100, 70, "float16").prim_func, "tenstorrent", core_grid=(2, 2))
    assert again.files == program.files
    assert set(again.files) == {"reader.cpp", "compute.cpp", "writer.cpp", "main.cpp", "tt.plan.json"}


def test_buffers_that_do_not_fit_are_listed():
    with pytest.raises(LocalMemoryError) as caught:
        lower(kernels.gemm(512, 512, 512, "float32", bm=256, bn=256, bk=128).prim_func)
    assert "bytes  c: 128 pages" in str(caught.value)


def test_the_map_of_l1_has_no_gaps(program):
    end = 0
    for buffer in program.l1:
        assert buffer["offset"] == end
        end += buffer["bytes"]
    assert len({buffer["cb"] for buffer in program.l1}) == len(program.l1)


def blocks_of(rows, dtype="float16"):
    @T.prim_func
    def main(A: T.Tensor((96, 64), dtype), B: T.Tensor((96, 64), dtype)):
        with T.Kernel(T.ceildiv(96, rows), threads=128) as bx:
            a = T.alloc_fragment((rows, 64), dtype)
            T.copy(A[bx * rows, 0], a)
            T.copy(a, B[bx * rows, 0])

    return main


def unset():
    @T.prim_func
    def main(B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_fragment((32, 32), "float32")
            T.copy(a, B[bx * 32, 0])

    return main


def summed_up():
    @T.prim_func
    def main(A: T.Tensor((32, 64), "float32"), B: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_fragment((32, 64), "float32")
            T.copy(A[bx * 32, 0], a)
            T.cumsum(a, dim=1)
            T.copy(a, B[bx * 32, 0])

    return main


@pytest.mark.parametrize(
    ("build", "options", "words"),
    [
        (lambda: blocks_of(48), {}, "begin or end inside a tile"),
        (lambda: blocks_of(32, "float64"), {}, "dtype that tiles do not hold"),
        (lambda: blocks_of(32), {"layouts": {"A": {"halo": [1, 1]}}}, "halo hint"),
        (lambda: blocks_of(32), {"layouts": {"C": {"memory": "L1"}}}, "no array of the kernel"),
        (unset, {}, "read before anything is in it"),
        (summed_up, {}, "cumsum"),
        (lambda: kernels.gemm(64, 64, 64, "int32").prim_func, {}, "T.gemm of int32"),
    ],
)
def test_what_is_refused_by_name(build, options, words):
    with pytest.raises(TLEError, match=words) as caught:
        lower(build(), **options)
    if isinstance(caught.value, FragmentSourceError) or "tile" in words:
        assert __file__ in str(caught.value) or "dtype" in words


def test_an_unknown_option_gets_a_guess():
    with pytest.raises(DialectError, match="core_grids") as caught:
        tle_raw.compile(blocks_of(32), "tenstorrent", core_grids=(1, 1))
    assert "core_grid" in caught.value.hint


def test_other_targets_compile_no_whole_programs():
    with pytest.raises(DialectError, match="kernels of Triton"):
        tle_raw.compile(blocks_of(32), "cuda")


def test_the_command_writes_the_files_and_what_each_pass_left(tmp_path, capsys):
    from tle_raw.cli import main

    file = tmp_path / "kernel.py"
    file.write_text(
        "import tilelang.language as T\n"
        "@T.prim_func\n"
        "def double(A: T.Tensor((96, 64), 'float16'), B: T.Tensor((96, 64), 'float16')):\n"
        "    with T.Kernel(3, threads=128) as bx:\n"
        "        a = T.alloc_fragment((32, 64), 'float16')\n"
        "        T.copy(A[bx * 32, 0], a)\n"
        "        for i, j in T.Parallel(32, 64):\n"
        "            a[i, j] = a[i, j] + a[i, j]\n"
        "        T.copy(a, B[bx * 32, 0])\n"
    )

    assert main(["tenstorrent", str(file), "-o", str(tmp_path / "out"), "--core-grid", "2,1", "--dump"]) == 0

    written = sorted(path.name for path in (tmp_path / "out" / "double").iterdir())
    assert written == ["compute.cpp", "main.cpp", "passes", "reader.cpp", "tt.plan.json", "writer.cpp"]
    assert len(list((tmp_path / "out" / "double" / "passes").iterdir())) == 15
    assert "double: 2 cores" in capsys.readouterr().out
