"""Scripts as people have them: kernels of ``main``, packages, config objects, references; and the files written."""

import os
import subprocess
import sys

import pytest
import torch

from tests.started import run_python
from tle_raw.adapters.tilelang.port import load_kernels, load_script
from tle_raw.errors import DialectError
from tle_raw.porting import Note, Ported, Skipped, TritonFile

pytestmark = pytest.mark.one_triton

SCALE = """
from dataclasses import dataclass
from types import SimpleNamespace


@dataclass(frozen=True)
class Config:
    block: int = 32
    dtype: str = "float32"


def scale(rows, config: Config, factor=2.0):
    @T.prim_func
    def scaled(A: T.Tensor((rows, 40), config.dtype), B: T.Tensor((rows, 40), config.dtype)):
        with T.Kernel(T.ceildiv(rows, config.block), threads=64) as bx:
            a = T.alloc_fragment((config.block, 40), config.dtype)
            T.copy(A[bx * config.block, 0], a)
            for i, j in T.Parallel(config.block, 40):
                a[i, j] = a[i, j] * factor
            T.copy(a, B[bx * config.block, 0])

    return scaled
"""
MAIN = (
    SCALE
    + """

@tilelang.jit(out_idx=[-1])
def plus(n, by):
    @T.prim_func
    def added(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=64) as _:
            for i in T.Parallel(n):
                Y[i] = X[i] + by

    return added


def ref_scale(A, factor):
    return A * factor


def main():
    import argparse

    parser = argparse.ArgumentParser()
    parser.add_argument("--m", type=int, default=100000)
    rows = parser.parse_args().m
    kernel = tilelang.compile(scale(rows, Config(block=16), factor=2.0), out_idx=[1])
    a = torch.randn(rows, 40, device="cuda")
    torch.testing.assert_close(kernel(a), ref_scale(a, 2.0))
    out = plus(70, 3.0)(torch.randn(70, device="cuda"))
    difference = (out - 1).abs().max().item()
    assert difference < 0, "what a script asserts of numbers"

    @T.prim_func
    def inner(X: T.Tensor((50,), "float32"), Y: T.Tensor((50,), "float32")):
        with T.Kernel(1, threads=64) as _:
            for i in T.Parallel(50):
                Y[i] = T.exp(X[i])

    tilelang.compile(inner).get_profiler().do_bench()


if __name__ == "__main__":
    main()
"""
)


def of(kind, answers):
    return [a for a in answers if isinstance(a, kind)]


def test_kernels_that_main_builds(answers, tmp_path):
    said = answers(MAIN)
    assert [(p.name, p.program) for p in of(Ported, said)] == [
        ("scale", "scaled"),
        ("plus", "added"),
        ("inner", "inner"),
    ]
    assert of(Note, said) == [Note("run with --m 256 (small sizes; --argv gives others)")] and not of(Skipped, said)
    (text,) = [a.text for a in of(TritonFile, said)]
    assert '"config": source.Config(block=16, dtype="float32"),' in text and '"rows": 256,' in text
    assert 'kernels = load_kernels(Path(__file__).parent / "script.py", ["--m", "256"])' in text
    (tmp_path / "out.py").write_text(text)
    done = run_python(tmp_path / "out.py", environment={**os.environ, "TLE_RAW_TARGET": "cpu"})
    assert "scale computes what `ref_scale` says" in done.stdout, done.stderr
    for name in ("plus", "inner"):
        assert f"{name} computes what a float64 evaluation of the PrimFunc says" in done.stdout, done.stderr


def test_a_reference_of_something_else_fails_and_says_so(answers, tmp_path):
    text = MAIN.replace("return A * factor", "return A * factor + 3")
    (tmp_path / "out.py").write_text(answers(text, name="scale", rows=24, factor=2.5)[-1].text)
    done = run_python(tmp_path / "out.py", environment={**os.environ, "TLE_RAW_TARGET": "cpu"})
    assert "`B` of scale is not what `ref_scale` says" in done.stderr
    assert "it is what a float64 evaluation of the PrimFunc says: if `ref_scale` is no reference" in done.stderr


def test_a_main_that_fails_has_what_came_before(answers):
    said = answers(SCALE + "\ndef main():\n    tilelang.compile(scale(32, Config()))\n    raise OSError('no data')\n")
    assert [p.name for p in of(Ported, said)] == ["scale"]
    with pytest.raises(Exception, match="holds no PrimFunc"):
        answers("def main():\n    raise OSError('no data')\n")


def test_config_objects_on_the_command_line(answers):
    said = answers(SCALE, rows=32, config="Config(block=8)")
    assert '"config": source.Config(block=8, dtype="float32"),' in said[-1].text
    said = answers(SCALE, rows=32, config="SimpleNamespace(block=8, dtype='float16')")
    assert "from types import SimpleNamespace" in said[-1].text
    assert dict(of(Ported, said)[0].facts)["A"] == "f16[32, 40]"
    with pytest.raises(DialectError, match="NameError: name 'Missing' is not defined"):
        answers(SCALE, rows=32, config="Missing(3)")


def test_a_builder_of_a_function_that_wants_block_sizes(answers):
    said = answers("""
def outer(M):
    @tilelang.jit(out_idx=[1])
    def inner(block_m, threads=64):
        @T.prim_func
        def copied(A: T.Tensor((M,), "float32"), B: T.Tensor((M,), "float32")):
            with T.Kernel(T.ceildiv(M, block_m), threads=threads) as bx:
                T.copy(A[bx * block_m], B[bx * block_m])

        return copied

    return inner
""")
    assert [(p.name, p.route) for p in of(Ported, said)] == [("outer", "traced")]
    assert 'outer_tuning = {\n    "block_m": 64,\n}' in said[-1].text
    assert "fragment(source.outer(**outer_arguments), arguments=outer_tuning" in said[-1].text


@pytest.fixture
def package(tmp_path):
    """With relative imports, and a parent that cannot be imported."""
    folder = tmp_path / "shelf" / "ops"
    folder.mkdir(parents=True)
    (tmp_path / "shelf" / "__init__.py").write_text("import no_such_package\n")
    (folder / "__init__.py").write_text("")
    (folder / "sizes.py").write_text("COLUMNS = 48\n")
    (folder / "tilelang.py").write_text(
        "import tilelang\nimport tilelang.language as T\n\nfrom .sizes import COLUMNS\n\n\n@T.prim_func\n"
        'def fill(A: T.Tensor((COLUMNS,), "float32")):\n    with T.Kernel(1, threads=64) as _:\n'
        "        for i in T.Parallel(COLUMNS):\n            A[i] = 1.0\n"
    )
    return tmp_path


def test_a_module_of_a_package(package):
    command = [sys.executable, "-m", "tle_raw", "port", "shelf.ops.tilelang", "-o", "out.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=package, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "A         f32[48], written" in done.stdout
    assert "  the package: shelf: ModuleNotFoundError: No module named 'no_such_package'" in done.stdout
    assert 'source = load_script(Path(__file__).parent / "shelf/ops/tilelang.py")' in (package / "out.py").read_text()


def test_a_file_of_a_package(package, tidy):
    assert load_script(package / "shelf" / "ops" / "tilelang.py").COLUMNS == 48


def test_a_module_that_is_not_there(package):
    command = [sys.executable, "-m", "tle_raw", "port", "shelf.gone"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=package, timeout=300)
    assert done.returncode == 2 and "there is no module shelf.gone" in done.stderr


def test_kernels_of_main_by_their_names(tmp_path, tidy):
    file = tmp_path / "kernels_of_main.py"
    file.write_text("import tilelang\nimport tilelang.language as T\nimport torch\n" + MAIN)
    compiled = load_kernels(file, ["--m", "64"])
    assert list(compiled) == ["scaled", "added", "inner"]
    first = next(iter(compiled["scaled"].prim_func.buffer_map.values()))
    assert [int(n) for n in first.shape] == [64, 40]
    assert torch.allclose(torch.ones(1), torch.zeros(1)) is False
