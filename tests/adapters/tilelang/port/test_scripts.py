"""Scripts of all kinds: what of them is found, what is left out, and the errors of those that fail."""

import importlib
import os

import pytest
import torch

import tle_raw
from tests.started import run_python
from tle_raw.adapters.common import tested_package
from tle_raw.adapters.tilelang import installed
from tle_raw.adapters.tilelang.port import load_script
from tle_raw.adapters.tilelang.port.load_script import run_script
from tle_raw.errors import DialectError, FragmentSourceError, ToolchainError
from tle_raw.porting import Ported, Skipped, TritonFile

pytestmark = pytest.mark.one_triton

FILL = """
@T.prim_func
def fill(A: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=64) as _:
        for i in T.Parallel(64):
            A[i] = 1.0
"""
BUILD = """
def build(rows, value="3"):
    @T.prim_func
    def made(A: T.Tensor((rows,), "float32")):
        with T.Kernel(1, threads=64) as _:
            for i in T.Parallel(rows):
                A[i] = float(value)

    return made
"""


def of(kind, answers):
    return [a for a in answers if isinstance(a, kind)]


def test_a_kernel_that_is_compiled_and_the_prim_func_that_it_came_from_are_one(answers):
    said = answers(FILL + "\nkernel = tilelang.compile(fill)\nsame = fill\n")
    assert [p.name for p in of(Ported, said)] == ["fill"]
    assert [(s.what, s.reason) for s in of(Skipped, said)] == [
        ("kernel", "it is a kernel that stands here already"),
        ("same", "it is a kernel that stands here already"),
    ]
    assert "source = load_script(" in said[-1].text


def test_a_script_that_compiles_nothing_is_imported_plainly(answers):
    (text,) = [a.text for a in of(TritonFile, answers(FILL))]
    assert "import script as source" in text and "load_script" not in text


def test_what_is_compiled_under_no_name_is_taken_on_its_way(answers):
    said = answers(FILL + BUILD + "\n(lambda k: None)(tilelang.compile(build(32)))\n")
    assert [(p.name, p.program) for p in of(Ported, said)] == [("fill", "fill"), ("made", "made")]
    assert 'kernels = load_kernels(Path(__file__).parent / "script.py")' in said[-1].text
    assert 'tle_raw.fragment(kernels["made"], in_grid=True)' in said[-1].text


def test_one_kernel_of_many(answers):
    assert [a.name for a in answers(FILL + BUILD, name="fill") if isinstance(a, Ported)] == ["fill"]
    with pytest.raises(DialectError, match="holds no kernel, and no function, called `gone`"):
        answers(FILL, name="gone")


def test_a_function_that_calls_a_builder_is_found_by_its_name(answers):
    text = BUILD + "\ndef small():\n    return build(16)\n"
    said = answers(text, name="small")
    assert [p.program for p in of(Ported, said)] == ["made"] and "source.small()" in said[-1].text


def test_arguments_of_builders(answers):
    said = answers(BUILD, rows=16, **{"build:value": "4"})
    (ported,) = of(Ported, said)
    assert dict(ported.facts)["A"] == "f32[16], written"
    assert 'build_arguments = {\n    "rows": 16,\n    "value": "4",\n}' in said[-1].text
    assert "tle_raw.fragment(source.build(**build_arguments), in_grid=True)" in said[-1].text


@pytest.mark.parametrize("arguments", [{"columns": 3}, {"fill:rows": 3}, {"build:columns": 3}])
def test_arguments_that_nothing_takes(answers, arguments):
    with pytest.raises(DialectError, match="no function takes") as caught:
        answers(FILL + BUILD, **arguments)
    assert "build(rows, value)" in str(caught.value)


def test_a_builder_alone_says_what_it_wants(answers):
    with pytest.raises(FragmentSourceError, match="functions that build kernels, but no kernel") as caught:
        answers(BUILD.replace("rows", "what"))
    assert "--arguments build:what=…" in str(caught.value)


def test_a_builder_gets_small_sizes_that_are_told(answers):
    said = answers(BUILD)
    assert dict(of(Ported, said)[0].facts)["A"] == "f32[256], written"
    assert "# Sizes of no one's choice: rows." in said[-1].text


def test_small_sizes_that_do_no_good_are_no_obstacle(answers):
    said = answers(FILL + BUILD.replace("return made", "return made if rows == 7 else None"))
    (skipped,) = of(Skipped, said)
    assert "it builds a kernel from rows; with rows=256: " in skipped.reason
    assert skipped.hint == "--arguments build:rows=…"


def test_a_builder_that_fails_has_no_route(answers):
    (ported,) = of(Ported, answers(BUILD, rows=16, value="no number"))
    assert ported.route == "" and not ported.ways
    assert "could not convert" in ported.obstacles[0].message and ported.obstacles[0].place.line


def test_a_prim_func_that_is_none_of_ours_has_no_route(answers):
    said = answers(
        FILL
        + """
@T.prim_func
def two(A: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=64) as _:
        for i in T.Parallel(64):
            A[i] = 1.0
    with T.Kernel(2, threads=64) as _:
        for i in T.Parallel(64):
            A[i] = 2.0
"""
    )
    fill, two = of(Ported, said)
    assert fill.route == "traced" and two.route == ""
    assert (
        "several T.Kernels" in two.obstacles[0].message and "T.Kernel: 1 is expected, not 2" in two.obstacles[0].message
    )
    assert "run_fill" in said[-1].text and "two" not in said[-1].text


def test_a_block_that_no_kernel_of_tritons_has_gets_idle_warps(answers):
    said = answers("""
@T.prim_func
def odd(A: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=96) as _:
        for i in T.Parallel(64):
            A[i] = T.call_extern("float32", "tanf", A[i])
""")
    (odd,) = of(Ported, said)
    assert odd.route == "linked" and "num_warps=4" in of(TritonFile, said)[0].text
    assert [o.place.text.strip() for o in odd.obstacles if o.place] == ['A[i] = T.call_extern("float32", "tanf", A[i])']


def test_what_a_linked_region_does_without(answers):
    said = answers("""
@T.prim_func
def copied(A: T.Tensor((128, 128), "float16"), B: T.Tensor((128, 128), "float16"), C: T.Tensor((128, 128), "float32")):
    with T.Kernel(1, threads=128) as _:
        a, b = T.alloc_shared((128, 64), "float16"), T.alloc_shared((64, 128), "float16")
        c = T.alloc_fragment((128, 128), "float32")
        T.clear(c)
        for k in T.Pipelined(2, num_stages=2):
            T.copy(A[0, k * 64], a)
            T.copy(B[k * 64, 0], b)
            T.gemm(a, b, c)
        for i, j in T.Parallel(128, 128):
            C[i, j] = T.call_extern("float32", "tanf", c[i, j])
""")
    (copied,) = of(Ported, said)
    assert copied.route == "linked"
    assert any("TMA" in fact for fact in copied.ways[0].facts)
    assert any("warp specialisation (256 threads)" in fact for fact in copied.ways[0].facts)


def test_no_kernel_at_all(answers):
    with pytest.raises(FragmentSourceError, match="holds no PrimFunc"):
        answers("x = 1\n")


def test_a_script_that_fails_tells_its_line(answers, tmp_path):
    with pytest.raises(FragmentSourceError, match="ZeroDivisionError: division by zero") as caught:
        answers(FILL + "\nratio = 1 / 0  # here\n")
    place = caught.value.context.source
    assert place.file == str(tmp_path / "script.py") and place.text == "ratio = 1 / 0  # here"


def test_a_script_that_is_no_python(answers):
    with pytest.raises(FragmentSourceError, match="is no Python file") as caught:
        answers("def broken(:\n")
    assert caught.value.context.source.text == "def broken(:"


def test_without_tilelang_or_with_another_one(answers, monkeypatch):
    monkeypatch.setattr(tested_package, "version", lambda package: "0.3.0")
    installed.load_tilelang.cache_clear()
    with pytest.raises(ToolchainError, match="outside the tested range"):
        answers(FILL)
    installed.load_tilelang.cache_clear()


def test_a_script_runs_as_far_as_it_goes_without_a_gpu(tmp_path, tidy):
    file = tmp_path / "launches.py"
    file.write_text(
        "from __future__ import annotations\nimport tilelang\nimport tilelang.language as T\nimport torch\n"
        f"{FILL}\n"
        "kernel = tilelang.compile(fill)\n"
        'x = torch.zeros(64, device="cuda")\n'
        "y = kernel(x)\n"
        "z = y + 1\n"
        "after = x.device.type\n"
        "def typed(a: NotThere): ...\n"
        'if __name__ == "__main__":\n    raise ValueError\n'
    )
    script = run_script(file)
    assert [left.place.text for left in script.left_out] == ["y = kernel(x)", "z = y + 1"]
    assert script.left_out[0].reason == "it runs a kernel" and "NameError" in script.left_out[1].reason
    assert script.module.after == "cpu" and not script.is_plain


def test_what_is_replaced_while_a_script_runs_is_put_back(tmp_path, tidy):
    own = (torch.zeros, torch.Tensor.to, torch.Tensor.cuda, torch.cuda.is_available)
    kernels = importlib.import_module("tilelang.jit.kernel").JITKernel
    method = kernels.__init__
    file = tmp_path / "empty.py"
    file.write_text("x = 1\n")
    assert load_script(file).x == 1 and run_script(file).is_plain
    assert own == (torch.zeros, torch.Tensor.to, torch.Tensor.cuda, torch.cuda.is_available)
    assert kernels.__init__ is method


def test_a_kernel_of_a_loaded_script_becomes_a_region(tmp_path, tidy):
    file = tmp_path / "compiles.py"
    file.write_text(f"import tilelang\nimport tilelang.language as T\n{FILL}\nkernel = tilelang.compile(fill)\n")
    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        a = torch.zeros(64)
        tle_raw.fragment(load_script(file).kernel).as_kernel()(a)
    assert (a == 1).all()


def test_a_function_that_has_its_kernel_compiled_is_ported_without_tilelangs_compiler(answers, tmp_path):
    inner = BUILD.replace("return made", "return tilelang.compile(made, out_idx=[0])").replace("float(value)", "2.5")
    said = answers(inner + "\n\nif __name__ == '__main__':\n    build(48)()\n")
    assert [(p.name, p.route) for p in of(Ported, said)] == [("build", "traced")]
    (file,) = of(TritonFile, said)
    assert "tle_raw.fragment(kernel_uncompiled(source.build, **build_arguments), " in file.text
    (tmp_path / "out.py").write_text(file.text)
    done = run_python(tmp_path / "out.py", environment={**os.environ, "TLE_RAW_TARGET": "cpu"})
    assert "build computes what a float64 evaluation of the PrimFunc says" in done.stdout, done.stderr


def test_a_script_that_reads_its_command_line_and_exits(answers):
    said = answers(FILL + "\nimport argparse\nargparse.ArgumentParser().parse_args()\nimport sys\nsys.exit(3)\nx = 1\n")
    assert [p.name for p in of(Ported, said)] == ["fill"]
    (skipped,) = of(Skipped, said)
    assert skipped.place.text == "sys.exit(3)" and skipped.reason == "it exits (3), and what follows"


def test_tiles_that_no_block_has_the_memory_for(answers):
    (gemm,) = of(
        Ported,
        answers(
            """
@T.prim_func
def gemm(A: T.Tensor((256, 1024), "float16"), B: T.Tensor((1024, 256), "float16"), C: T.Tensor((256, 256), "float16")):
    with T.Kernel(1, threads=256) as _:
        a, b = T.alloc_shared((256, 128), "float16"), T.alloc_shared((128, 256), "float16")
        c = T.alloc_fragment((256, 256), "float32")
        T.clear(c)
        for k in T.Pipelined(8, num_stages=3):
            T.copy(A[0, k * 128], a)
            T.copy(B[k * 128, 0], b)
            T.gemm(a, b, c)
        T.copy(c, C)
"""
        ),
    )
    assert gemm.route == "" and all("at most 232448 is expected" in o.message for o in gemm.obstacles)


def test_strides_open_sizes_and_names_that_python_keeps(answers, tmp_path):
    said = answers(
        """
rows = T.dynamic("rows")
step = T.dynamic("step")


@T.prim_func
def strided(
    X: T.StridedTensor((rows, 48), (step, 1), "float32"), Y: T.StridedTensor((rows, 48), (64, 1), "bfloat16"),
    torch: T.int32, device: T.float32,
):
    with T.Kernel(T.ceildiv(rows, 16), threads=64) as bx:
        for i, j in T.Parallel(16, 48):
            Y[bx * 16 + i, j] = T.cast(X[bx * 16 + i, j] * device, "bfloat16") + T.cast(torch, "bfloat16")
"""
    )
    (strided,) = of(Ported, said)
    assert [w.route for w in strided.ways] == ["traced", "traced"]
    text = said[-1].text
    assert "step = X.stride(0)" in text and "torch.empty_strided((rows, 48), (64, 1), dtype=torch.bfloat16" in text
    assert "def run_strided(X, Y, torch_, device_):" in text
    file = tmp_path / "out.py"
    file.write_text(text)
    environment = {**os.environ, "TLE_RAW_TARGET": "cpu"}
    done = run_python(file, environment=environment)
    assert "strided computes what a float64 evaluation of the PrimFunc says" in done.stdout, done.stderr
