"""``tle_raw.report`` of kernels for the CPU: teams, inlined functions, the entry, what lies in Triton's cache."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

pytest.importorskip("llvmlite")
pytest.importorskip("torch_mlir")

import tle_raw
from tle_raw import Element, InOut, Tile
from tle_raw.cli import main
from tle_raw.cli.kernels import kernels_of
from tle_raw.host.code import assemble

HALVE = """
#include <tle_raw/tile.h>
template <int N>
__device__ void halve(tle::tile<float, N> t) {
  __shared__ int unused[4];
  unused[threadIdx.x % 4] = 0;
  __syncthreads();
  for (int i : t.indices()) t[i] /= 2;
}
"""


@tle_raw.dialect("cuda", source=HALVE)
def halve(t: InOut[Tile["f32", "N"]]): ...


@tle_raw.dialect("cuda", source="__device__ float next_one(float x) { return x + 1; }")
def next_one(x: Element["f32"]) -> Element["f32"]: ...


@triton.jit
def both(x, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, halve(next_one(tl.load(x + i))))


@triton.jit
def plain(x):
    tl.store(x, 1.0)


def compile_kernel(kernel, **constants):
    signature = {"x": "*fp32", **dict.fromkeys(constants, "constexpr")}
    source = ASTSource(kernel, signature, constants)
    return triton.compile(source, target=GPUTarget("cpu", 0, 32), options={"num_warps": 2})


@pytest.fixture(scope="module")
def kernel():
    return compile_kernel(both, B=64)


def test_a_block_level_region_is_a_team_of_threads(kernel):
    (region,) = [r for r in tle_raw.report(kernel).regions if r.name == "halve"]
    assert region.threads == 64 and not region.inlined
    assert region.entry.startswith("tle_team_halve_")
    assert region.instructions > 5 and region.static_shared == 16 and region.seconds > 0
    assert Path(region.call_site.file).name == "test_reports_cpu.py"
    assert "halve(next_one(tl.load(x + i)))" in region.call_site.text


def test_an_elementwise_region_is_inlined(kernel):
    (region,) = [r for r in tle_raw.report(kernel).regions if r.name == "next_one"]
    assert region.inlined and not region.threads
    assert region.instructions is None and region.lines == ()


def test_the_object_has_one_entry(kernel):
    report = tle_raw.report(kernel)
    assert report.entries == ("tle_launch",) and report.one_kernel and report.problems == ()
    assert report.asm_instructions > 20 and report.scratch == kernel.metadata.scratch_bytes
    assert "mmap" in report.library_calls, "the team maps its stacks"


def test_what_only_a_gpu_has_is_empty_or_none(kernel):
    report = tle_raw.report(kernel)
    assert report.ptx == "" and report.ptx_calls == () and report.sass_calls is None
    assert report.registers is None and report.spills is None


def test_the_excerpt_is_the_threads_function(kernel):
    report = tle_raw.report(kernel)
    (region,) = [r for r in report.regions if r.threads]
    excerpt = report.excerpt(region, most=1000)
    assert "tle_raw_halve_" in excerpt.splitlines()[0] and "ret" in excerpt
    assert report.excerpt(next(r for r in report.regions if r.inlined)) == ""


def test_printed_it_is_a_table(kernel):
    printed = str(tle_raw.report(kernel)).splitlines()
    assert printed[0].startswith("kernel `both` for cpu") and printed[0].endswith("2 regions, one entry point")
    (team,) = [line for line in printed if line.startswith("  halve ")]
    assert "a team of 64 threads" in team and "test_reports_cpu.py:" in team
    assert not any("PTX" in line or "SASS" in line for line in printed)


def test_checks_of_debug_are_told():
    with tle_raw.knobs.scope() as knobs:
        knobs.debug = True
        report = tle_raw.report(compile_kernel(both, B=32))
    assert report.checked and "with the checks of knobs.debug" in str(report)


def test_a_second_entry_in_the_object_is_a_problem(kernel):
    added = "\t.globl\tother\n\t.type\tother,@function\nother:\n\tretq\n\t.size\tother, 1\n"
    text = kernel.asm["asm"] + "\t.text\n" + added
    report = tle_raw.report(SimpleNamespace(metadata=kernel.metadata, asm={"asm": text, "obj": assemble(text)}))
    assert not report.one_kernel and "other" in report.problems[0]
    assert "NOT as promised" in str(report) and "PROBLEM" in str(report)


def test_a_plain_kernel_is_refused():
    with pytest.raises(tle_raw.errors.ReportError, match="holds no region"):
        tle_raw.report(compile_kernel(plain))


def test_inspect_reads_it_from_tritons_cache(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(os.environ, "TRITON_CACHE_DIR", str(tmp_path))
    compiled = compile_kernel(both, B=128)
    (found,) = kernels_of(str(tmp_path))
    assert str(tle_raw.report(found)) == str(tle_raw.report(compiled))
    assert main(["inspect", compiled.hash]) == 0
    assert "kernel `both` for cpu" in capsys.readouterr().out
