"""The Linalg that bishengir-compile gets, and what is said where that is missing: nothing of Huawei's is needed."""

import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget

pytest.importorskip("torch_mlir")

import tle_raw
import tle_raw.language as tle
from tests.support import cause_of
from tests.targets.ascend import compiling
from tle_raw.errors import LaunchError, LocalMemoryError, LoweringError, ToolchainError
from tle_raw.targets.ascend import stages, tool

pytestmark = pytest.mark.every_triton(2)


@pytest.fixture
def texts(monkeypatch):
    """What the compiler gets, which is not started."""
    seen = []

    def take(text, chip):
        seen.append(text)
        return ""

    monkeypatch.setattr(stages, "compile_linalg", take)
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    return seen


def test_copies_are_of_run_time_sizes_and_arithmetic_is_linalg(texts):
    compiling.compile_case("chain")
    (text,) = texts
    assert text.count("memref.alloc() : memref<16x64xf32>") == 3
    assert text.count("memref.reinterpret_cast") == 3
    # Into UB by copies; out of it as a tensor, since parts that are copied both ways crash the compiler.
    assert (text.count("memref.copy"), text.count("bufferization.materialize_in_destination")) == (2, 1)
    assert (text.count("memref.subview"), text.count("tensor.extract_slice")) == (5, 1)  # of both ends
    assert [f"binary_fn<{name}>" in text for name in ("add", "mul", "sub", "div")] == [True] * 4
    assert "strides: [%" in text and 'loc("' in text and "kernels.py" in text
    assert 'mix_mode = "aiv"' in text


def test_products_are_linalg_and_other_hints_stay(texts):
    compiling.compile_case("product", ON_GPU=False)
    compiling.compile_case("carried")
    product, carried = texts
    assert "linalg.matmul" in product and 'mix_mode = "mix"' in product
    assert "hivm.hir.sync_block_set[<CUBE>, <PIPE_FIX>, <PIPE_MTE2>] flag = 3" in product
    assert "hivm.hir.sync_block_wait[<VECTOR>" in product
    assert "hivm.multi_buffer = 2" in carried and "disable_bubble_up = true" in carried
    assert "hivm.hir.get_sub_block_idx" in carried and "iter_args" in carried


def test_slices_and_views_are_parts(texts):
    compiling.compile_case("slices")
    compiling.compile_case("parts")
    slices, parts = texts
    assert "tensor.extract_slice" in slices and "tensor.insert_slice" in slices and "tensor.extract %" in slices
    assert "memref<8x4xf32, strided<[32, 2], offset: ?>>" in parts


@triton.jit
def plain(x, y, o, n, B: tl.constexpr):
    offs = tl.program_id(0) * B + tl.arange(0, B)
    mask = offs < n
    tl.store(o + offs, tl.where(tl.load(x + offs, mask=mask) > 0.5, tl.load(y + offs, mask=mask, other=1.0), 2.0), mask)


def test_kernels_without_dsa_are_converted_too(texts):
    compiling.compile_for(plain, {"x": "*fp32", "y": "*fp32", "o": "*fp32", "n": "i32"}, {"B": 64})
    assert texts[0].count("memref.copy") == 2 and "arith.select" in texts[0] and "linalg.fill" in texts[0]


@triton.jit
def refused(x, n, WHAT: tl.constexpr):
    offs = tl.arange(0, 64)
    if WHAT == "a gather":
        tl.store(x + offs, tl.load(x + tl.load(x + offs).to(tl.int32)))
    if WHAT == "a scan":
        tl.store(x + offs, tl.cumsum(tl.load(x + offs)))
    if WHAT == "shared memory":
        tle.gpu.alloc([64], tl.float32).store(tl.load(x + offs))
    if WHAT == "L0A first":
        a = tle.dsa.alloc([64], dtype=tl.float32, mem_addr_space=tle.dsa.ascend.L0A)
        tl.store(x + offs, tle.dsa.to_tensor(a))
    if WHAT == "every other":
        tl.store(x + offs, tl.load(x + offs, mask=offs % 2 == 0))
    if WHAT == "too large":
        tle.dsa.alloc([65536], dtype=tl.float32, mem_addr_space=tle.dsa.ascend.UB)


@pytest.mark.parametrize(
    "what, kind, words",
    [
        ("a gather", LoweringError, ("do not lie in rows and columns",)),
        ("a scan", LoweringError, ("is not converted in this release",)),
        ("shared memory", LoweringError, ("shared memory of GPUs", "tle.dsa.alloc")),
        ("L0A first", LoweringError, ("L0A is read where nothing was put",)),
        ("every other", LoweringError, ("how many elements are meant",)),
        ("too large", LocalMemoryError, ("196608 left", "262144 asked")),
    ],
)
def test_what_has_no_form_is_named_at_its_line(texts, what, kind, words):
    with pytest.raises(Exception) as raised:
        compiling.compile_for(refused, {"x": "*fp32", "n": "i32"}, {"WHAT": what})
    error = cause_of(raised.value)
    assert isinstance(error, kind) and all(word in str(error) for word in words), error
    assert error.context.call_site.file == __file__


def test_a_missing_compiler_is_named(monkeypatch):
    monkeypatch.setattr(tool, "package_folder", lambda name: None)
    monkeypatch.setattr(tool.shutil, "which", lambda name: None)
    with pytest.raises(ToolchainError, match="bishengir-compile") as raised:
        tool.compile_linalg("module {}", tool.Chip("910B3"))
    assert "pip install ascendnpu-ir" in str(raised.value)


def test_an_unknown_chip_and_a_launch_are_refused():
    with pytest.raises(LaunchError, match="unknown Ascend chip"):
        compiling.compile_case("chain", chip="910A")
    driver = triton.backends.backends["tle_ascend"].driver
    assert not driver.is_active()
    with pytest.raises(LaunchError, match="compiled and not launched"):
        driver().get_current_target()
    assert GPUTarget("ascend", "910B3", 1).backend == tle_raw.registry.find_target("ascend").name


def test_an_overflow_is_an_error_of_the_memory():
    said = (
        'loc("/k.mlir":1:1): error: Failed to run BiShengHIR pipeline\n\n'
        'loc("/user.py":30:7): error: ub overflow, requires 4194304 bits while 1572864 bits available! (possible ...)\n'
    )
    error = tool._explained(said, "failed", tool.Path("/k.mlir"))
    assert isinstance(error, LocalMemoryError)
    assert "ub overflow" in str(error) and "524288" in str(error) and "at most 196608" in str(error)
    assert (error.context.call_site.file, error.context.call_site.line) == ("/user.py", 30)
