"""Ahead of time: kernels with regions compile and run where the regions' own compiler is not."""

from pathlib import Path

import pytest

from tests.libraries.conftest import NO_CLANG
from tle_raw.cli import main

KERNELS = """\
import triton
import triton.language as tl

import tle_raw
from tle_raw import Element


@tle_raw.dialect("cuda", source="__device__ float half_of(float x) { return x / 2; }")
def half_of(x: Element["f32"]) -> Element["f32"]: ...


@triton.jit
def halve(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, half_of(tl.load(x + at, mask=at < n)), mask=at < n)


def variants():
    yield halve, {"x": "*fp32:16", "y": "*fp32:16", "n": "i32"}, {"BLOCK": 128}, {"num_warps": 4}
"""
NO_NVRTC = """
import tle_raw.adapters.cuda.nvrtc
tle_raw.adapters.cuda.nvrtc.find_library = lambda name: None
"""
USES = """
import numpy as np
import tle_raw
from kernels import halve, variants
from tle_raw.ahead.variants import Variant
from tle_raw.target import parse_target
x, y = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
with tle_raw.knobs.scope() as knobs:
    knobs.target = "cpu"
    halve[(8,)](x, y, 1000, 128)
np.testing.assert_array_equal(y, x / 2)
(given,) = variants()
compiled = Variant(*given).compile(parse_target("cuda:90"))
print(".target sm_90a" in compiled.asm["ptx"], tle_raw.report(compiled).regions[0].cache_hit)
"""


@pytest.mark.one_triton
def test_kernels_compile_and_run_where_no_compiler_is(program, tmp_path):
    (tmp_path / "kernels.py").write_text(KERNELS)
    out = tmp_path / "out"
    command = ["compile", str(tmp_path / "kernels.py"), "-o", str(out), "--target", "cuda:90", "--target", "cpu"]
    assert main(command) == 0 and main(command) == 0  # what it wrote itself is replaced
    assert sorted(p.suffix for p in (out / "kernels").iterdir()) == sorted(
        [".asm", ".cubin", ".json", ".json", ".obj", ".ptx"]
    )
    metadata = out / "kernels_fragments-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: kernels_fragments\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text("[tle_raw.caches]\nkernels_fragments = kernels_fragments\n")
    empty = {f"{each}_CACHE_DIR": str(tmp_path / each) for each in ("TLE_RAW", "TRITON")}
    assert program(USES, tmp_path, out, **NO_CLANG, **empty).split() == ["True", "True"]
    other = {f"{each}_CACHE_DIR": str(tmp_path / each / "other") for each in ("TLE_RAW", "TRITON")}
    assert "clang" in program(NO_NVRTC + USES, tmp_path, fails=True, **NO_CLANG, **other)


@pytest.mark.one_triton
@pytest.mark.parametrize(
    ("written", "word"),
    [
        ("", "no function `variants`"),
        ("def variants(): yield 1", "a kernel, the types of its arguments"),
        (
            'def variants(): yield halve, {"x": "*fp32"}, {"BLOCK": 1}',
            "says of `halve` what does not fit its parameters",
        ),
    ],
)
def test_what_variants_does_not_say_is_named(tmp_path: Path, capsys, written, word):
    file = tmp_path / f"kernels_{len(written)}.py"
    file.write_text(KERNELS.split("def variants")[0] + written + "\n")
    assert main(["compile", str(file), "-o", str(tmp_path / "out")]) == 2
    assert word in capsys.readouterr().err


@pytest.mark.one_triton
def test_a_folder_that_holds_other_things_stays_as_it_is(tmp_path: Path, capsys):
    (tmp_path / "kernels.py").write_text(KERNELS)
    project = tmp_path / "project"
    (project / "kernels").mkdir(parents=True)
    (project / "pyproject.toml").write_text('[project]\nname = "mine"\n')
    command = ["compile", str(tmp_path / "kernels.py"), "--target", "cpu", "-o"]
    assert main([*command, str(project)]) == 2 and "project holds other things: kernels" in capsys.readouterr().err
    assert main([*command, str(tmp_path / "kernels.py")]) == 2 and "kernels.py" in capsys.readouterr().err
    out = tmp_path / "out"
    assert main([*command, str(out)]) == 0
    (out / "notes.txt").write_text("mine")
    capsys.readouterr()
    assert main([*command, str(out)]) == 2 and "out holds other things: notes.txt" in capsys.readouterr().err
    assert (out / "notes.txt").read_text() == "mine" and (project / "kernels").is_dir()


KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def count(x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, i)


def variants():
    {}
"""


@pytest.mark.one_triton
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return ()", ["gives nothing to compile", "kernels.py:11"]),
        ("return None", ["TypeError: 'NoneType' object is not iterable"]),
        ("raise ValueError('boom')", ["ValueError: boom", "kernels.py:12"]),
        ("yield count", ["variant 1", "(JITFunction)"]),
        ("yield variants, {'x': '*i32'}, {'N': 64}", ["variant 1", "(function, dict, dict)"]),
        ("yield count, {'x': '*i32'}", ["> N  a constant  nothing"]),
        ("yield count, {}, {'N': 64}", ["> x  a type    nothing"]),
        ("yield count, {'x': '*i32', 'N': 'i32'}", ["N  a constant: it is tl.constexpr"]),
        ("yield count, {'x': '*i32', 'N': 'i32'}, {'N': 64}", ["N  a type or a constant  both"]),
        ("yield count, {'x': '*i32', 'z': 'i32'}, {'N': 64}", ["z  a parameter of the kernel: x, N"]),
        ("yield count, {'x': '*float'}, {'N': 64}", ["x  a type of Triton's", "'*float'"]),
        ("yield count, {'x': '*i32:8'}, {'N': 64}", ["'*i32:8'"]),
        ("yield count, {'x': 3}, {'N': 64}", ["x  a type of Triton's", "3"]),
        ("yield count, {'x': '*i32'}, {'N': 64}, {'num_wraps': 4}", ["no option `num_wraps`", "mean `num_warps`"]),
        ("yield count, {'x': '*i32'}, {'N': 65}", ["does not compile `count` for cuda:90", "power of 2"]),
    ],
)
def test_what_variants_say_is_compared_with_the_kernel(body, words, tmp_path, capsys):
    (tmp_path / "kernels.py").write_text(KERNEL.format(body))
    assert main(["compile", str(tmp_path / "kernels.py"), "-o", str(tmp_path / "out")]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert all(" ".join(word.split()) in told for word in words), told
    assert not (tmp_path / "out").exists()


@pytest.mark.one_triton
@pytest.mark.parametrize(
    ("more", "word"),
    [(["--name", "2x"], "'2x'"), (["--target", "gpu"], "nothing is compiled ahead of time for gpu"),
     (["-o", "/proc/no/folder"], "/proc/no/folder cannot be written")],
)  # fmt: skip
def test_names_targets_and_folders_that_cannot_be_are_refused(more, word, tmp_path, capsys):
    (tmp_path / "kernels.py").write_text(KERNEL.format("yield count, {'x': '*i32'}, {'N': 64}"))
    command = ["compile", str(tmp_path / "kernels.py"), "-o", str(tmp_path / "out"), *more]
    assert main(command) == 2 and word in capsys.readouterr().err


@pytest.mark.one_triton
def test_a_file_with_a_dash_in_its_name_and_one_target_twice(tmp_path, capsys):
    (tmp_path / "my-kernels.py").write_text(KERNEL.format("yield count, {'x': '*i32'}, {'N': 64}"))
    command = ["compile", str(tmp_path / "my-kernels.py"), "-o", str(tmp_path / "out"), *["--target", "cuda:90"] * 2]
    assert main(command) == 0 and "1 kernels" in capsys.readouterr().out
    assert (tmp_path / "out" / "my_kernels_fragments" / "__init__.py").is_file()
