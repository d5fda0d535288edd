"""A dialect is added without touching the package: by one class, in this process or by an entry point."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tests.support import cause_of, compile_kernel, ptx_calls
from tests.toys import postfix
from tle_raw import Element, InOut, Tile, registry
from tle_raw.errors import CompilationFailed, DialectError, UnsupportedFeatureError

registry.register_adapter(postfix.PostfixAdapter())


@tle_raw.dialect("postfix", source="x 2 * y + 3 -")
def line(x: Element["f32"], y: Element["f32"]) -> Element["f32"]: ...


@triton.jit
def kernel(x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, line(tl.load(x + at), tl.load(y + at)))


def test_its_fragment_becomes_part_of_a_kernel():
    compiled = compile_kernel(kernel, {"x": "*fp32", "y": "*fp32"}, {"N": 128})
    (region,) = tle_raw.report(compiled).regions
    assert region.inlined and not ptx_calls(compiled)
    assert compiled.asm["ptx"].count("fma.rn.f32") + compiled.asm["ptx"].count("mul.f32") == 1


def test_its_code_comes_from_the_cache():
    assert line.compile().path == line.compile().path
    assert line.compile().compiler == postfix.IDENTITY


def test_its_prototype_is_its_own():
    assert line.prototype() == "x y"


def test_its_errors_name_the_fragment_and_the_call():
    @tle_raw.dialect("postfix", source="x power")
    def wrong(x: Element["f32"]) -> Element["f32"]: ...

    @triton.jit
    def calls(x, N: tl.constexpr):
        tl.store(x + tl.arange(0, N), wrong(tl.load(x + tl.arange(0, N))))

    with pytest.raises((triton.CompilationError, CompilationFailed)) as raised:
        compile_kernel(calls, {"x": "*fp32"}, {"N": 128})
    text = str(cause_of(raised.value))
    assert "`power`" in text and "fragment `wrong`" in text and "tl.store(x + tl.arange" in text


def test_its_device_code_runs_on_the_cpu():
    x, y = np.arange(128, dtype=np.float32), np.ones(128, np.float32)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        compiled = kernel[(1,)](x, y, 128)
    np.testing.assert_array_equal(y, x * 2 + 1 - 3)
    assert tle_raw.report(compiled).regions[0].inlined


def test_tiles_and_other_options_are_refused():
    @tle_raw.dialect("postfix", source="x")
    def tiled(x: InOut[Tile["f32", 128]]): ...

    with pytest.raises(UnsupportedFeatureError, match="elements of f32"):
        tiled.compile()
    with pytest.raises(DialectError, match="sauce"):

        @tle_raw.dialect("postfix", sauce="x")
        def sauced(x: Element["f32"]) -> Element["f32"]: ...


def test_an_entry_point_of_another_package_adds_it(tmp_path):
    shutil.copy(postfix.__file__, tmp_path / "postfix.py")
    metadata = tmp_path / "postfix-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: postfix\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[tle_raw.adapters]\npostfix = postfix:PostfixAdapter\n")
    program = tmp_path / "program.py"
    program.write_text(
        "import tle_raw\n"
        "from tle_raw import Element\n"
        '@tle_raw.dialect("postfix", source="x x *")\n'
        'def square(x: Element["f32"]) -> Element["f32"]: ...\n'
        "print(square.compile(target='cuda:90').text)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(tle_raw.__file__).parents[1])}
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, env=environment, timeout=120)
    assert "fmul float" in done.stdout, done.stderr
