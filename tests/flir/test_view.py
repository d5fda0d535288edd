"""``kernel.asm["tle"]``: there for kernels with regions, on both targets, and from the disk cache."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import tle_raw
from tests.support import compile_kernel
from tle_raw import Element, InOut, Tile

SOURCE = """
#include <tle_raw/tile.h>
template <int M> __device__ void twice(tle::tile<float, M> t) {
  for (int i = threadIdx.x; i < M; i += blockDim.x) t[i] *= 2;
}
__device__ float cubed(float x) { return x * x * x; }
"""


@tle_raw.dialect("cuda", source=SOURCE)
def twice(t: InOut[Tile["f32", "M"]]): ...


@tle_raw.dialect("cuda", source=SOURCE)
def cubed(x: Element["f32"]) -> Element["f32"]: ...


@triton.jit
def doubled(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, twice(tl.load(x + i)))


@triton.jit
def elementwise(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, cubed(tl.load(x + i)))


@triton.jit
def plain(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i) * 2)


@triton.jit
def unused(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    cubed(tl.load(x + i))
    tl.store(o + i, tl.load(x + i))


TYPES = {"x": "*fp32", "o": "*fp32"}


def compiled(kernel, target):
    if target == "cuda":
        return compile_kernel(kernel, TYPES, {"B": 128})
    source = ASTSource(kernel, {**TYPES, "B": "constexpr"}, {"B": 128})
    return triton.compile(source, target=GPUTarget("cpu", 0, 32))


@pytest.mark.parametrize("target", ["cuda", "cpu"])
@pytest.mark.parametrize("kernel", [doubled, elementwise], ids=lambda kernel: kernel.__name__)
def test_kernels_with_regions_show_them(kernel, target):
    text = compiled(kernel, target).asm["tle"]
    assert text.count("tle.dsl_region") == 1 and "tt.extern_elementwise" not in text
    assert f'"{__file__}":' in text  # locations are the user's lines


@pytest.mark.parametrize("target", ["cuda", "cpu"])
def test_plain_kernels_have_no_view(target):
    assert "tle" not in compiled(plain, target).asm


@pytest.mark.parametrize("target", ["cuda", "cpu"])
def test_a_region_that_triton_drops_is_not_shown(target):
    """Without pointers an elementwise call is pure."""
    asm = compiled(unused, target).asm
    assert asm["tle"] == asm["ttir"]


def test_all_else_of_a_kernel_stays_in_order():
    assert [name for name in compiled(doubled, "cuda").asm if name != "source"] == [
        "ttir", "tle", "ttgir", "llir", "ptx", "cubin"
    ]  # fmt: skip


@pytest.mark.one_triton
@pytest.mark.parametrize("target", ["cuda", "cpu"])
def test_another_process_finds_the_view_in_the_cache(target, tmp_path):
    def run():
        environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
        done = subprocess.run(
            [sys.executable, __file__, target], capture_output=True, text=True, check=True, env=environment
        )
        return json.loads(done.stdout)

    first, second = run(), run()
    assert (first["compiled"], second["compiled"]) == (True, False)
    assert first["tle"] == second["tle"] and "tle.dsl_region" in second["tle"]


@pytest.mark.parametrize("target", ["cuda", "cpu"])
def test_a_dumped_view_is_no_input(target, tmp_path, monkeypatch):
    """TRITON_KERNEL_OVERRIDE with a whole dumped folder compiles the same kernel.

    Triton keeps what it was overridden with under the kernel's own key, so the test has a cache of its own.
    """
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TRITON_DUMP_DIR", str(tmp_path / "dump"))
    monkeypatch.setenv("TRITON_OVERRIDE_DIR", str(tmp_path / "dump"))
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    with monkeypatch.context() as dumping:
        dumping.setenv("TRITON_KERNEL_DUMP", "1")
        first = compiled(doubled, target)
    (folder,) = (tmp_path / "dump").iterdir()
    for file in folder.iterdir():
        if file.suffix not in (".tle", ".ttir"):
            file.unlink()
    assert {file.suffix for file in folder.iterdir()} == {".tle", ".ttir"}
    monkeypatch.setenv("TRITON_KERNEL_OVERRIDE", "1")
    second = compiled(doubled, target)
    code = "ptx" if target == "cuda" else "llvmir"
    assert second.asm[code] == first.asm[code]


def test_a_hook_of_somebody_else_still_sees_the_stages_as_they_are(monkeypatch):
    seen = []
    ours = triton.knobs.runtime.add_stages_inspection_hook

    def hook(*arguments, **keywords):
        if arguments or keywords:
            ours(*arguments, **keywords)
            stages = arguments[1] if len(arguments) > 1 else keywords["stages"]
            inner = stages["ttgir"]
            stages["ttgir"] = lambda source, metadata: seen.append(type(source).__name__) or inner(source, metadata)
            return None
        return ours()

    monkeypatch.setattr(triton.knobs.runtime, "add_stages_inspection_hook", hook)
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    assert "tle.dsl_region" in compiled(doubled, "cuda").asm["tle"]
    assert seen == ["module"]


def test_the_view_survives_a_launch():
    x, o = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        kernel = doubled[(1,)](x, o, B=128)
    np.testing.assert_array_equal(o, x * 2)
    assert "tle.pack" in kernel.asm["tle"]


if __name__ == "__main__":
    ran = []
    from tle_raw.flir import dump

    original = dump.View.show_regions
    dump.View.show_regions = lambda self: ran.append(1) or original(self)
    print(json.dumps({"tle": compiled(doubled, sys.argv[1]).asm["tle"], "compiled": bool(ran)}))
