"""Fragments that clang compiled go through Triton's own stages to machine code."""

from pathlib import Path

import pytest

pytest.importorskip("triton")

import triton
import triton.language as tl
from triton.language import core

from tests.linker.toolbox import call, compile_cuda, compile_kernel
from tle_raw.linker.llvm.normalise import normalise
from tle_raw.linker.llvm.shared_memory import dynamic_shared_alignment
from tle_raw.linker.llvm.text import read_module
from tle_raw.linker.machine_code.sass import read_cubin
from tle_raw.linker.prepare import link_edits, prepare
from tle_raw.linker.ptx.read import instructions_by_file, read_ptx
from tle_raw.linker.verify import verify_kernel

PARAMETERS = ("ptr addrspace(1)", "i32")

# Both fragments have a helper `helper`, one called like the kernel, and a static `scratch` of odd size.
FRAGMENT = """\
__shared__ char scratch[7];
__device__ int counter;
__device__ float helper(float x) {
  scratch[THREAD % 7] = x;
  __syncthreads();
  return scratch[(THREAD + 1) % 7] + FACTOR;
}
__device__ float kernel(float x) { return helper(x) * FACTOR; }
__device__ float global_smem(float x) { counter += 1; return kernel(x); }
extern "C" __device__ float NAME(const float GLOBAL *p, int n) {
  return global_smem(p[n]);
}
"""

KEPT = """\
__attribute__((device, noinline)) float kept(float x) { return x * x + 1.0f; }
extern "C" __device__ int vprintf(const char *, const char *);
extern "C" __device__ float first(const float GLOBAL *p, int n) {
  if (n > 9) vprintf("big", nullptr);
  return kept(p[n]);
}
"""


@core.extern
def first(p, n, _semantic=None):
    return call("first", [p, n], core.float32, _semantic)


@core.extern
def second(p, n, _semantic=None):
    return call("second", [p, n], core.float32, _semantic)


@triton.jit
def kernel(x, n, B: tl.constexpr):
    offsets = tl.arange(0, B)
    total = tl.sum(tl.load(x + offsets))
    value = first(x, n)
    tl.store(x + offsets, total + value + second(x, n))


@triton.jit
def kernel_of_one(x, n, B: tl.constexpr):
    offsets = tl.arange(0, B)
    total = tl.sum(tl.load(x + offsets))
    tl.store(x + offsets, total + first(x, n))


SIGNATURE = {"x": "*fp32", "n": "i32", "B": "constexpr"}
LINE_OF_FIRST = kernel.fn.__code__.co_firstlineno + 4


def prepared(folder, name, code=FRAGMENT, debug="-gline-tables-only", inline=True):
    text = compile_cuda(folder, name, code, f"-DNAME={name}", "-DFACTOR=2.5f", *filter(None, [debug]))
    edit = link_edits(name, inline=inline)
    return prepare(text, entry=name, parameters=PARAMETERS, result="float", edit=edit, inline=inline)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("fragments")


@pytest.fixture(scope="module")
def modules(folder):
    return {name: prepared(folder, name) for name in ("first", "second")}


def linked(function, modules, folder, **options):
    libraries = {name: module.text for name, module in modules.items()}
    return compile_kernel(function, SIGNATURE, {"B": 128}, libraries, folder, **options)


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_two_fragments_with_equal_helpers_are_inlined_into_one_kernel(modules, folder, capability):
    compiled = linked(kernel, modules, folder, capability=capability)
    ptx, facts = read_ptx(compiled.asm["ptx"]), read_cubin(compiled.asm["cubin"])
    verify_kernel(ptx, facts, inlined={"first": True, "second": True})
    assert ptx.entries == facts.entries == ("kernel",)
    assert ptx.calls == ptx.functions == facts.calls == ()
    assert compiled.asm["ptx"].count(".b8 scratch$first[7]") == 1
    assert compiled.asm["ptx"].count(".b8 scratch$second[7]") == 1
    assert facts.static_shared is not None
    assert facts.static_shared >= 14
    assert facts.registers


def test_instructions_are_attributed_to_fragment_and_kernel_lines(modules, folder):
    compiled = linked(kernel, modules, folder)
    shares = {share.file: share for share in instructions_by_file(compiled.asm["ptx"])}
    share = shares[str(folder / "first.cu")]
    assert share.own > 5
    assert {Path(place.file).name for place in share.called_from} == {Path(__file__).name}
    assert LINE_OF_FIRST in {place.line for place in share.called_from}
    lines = compiled.asm["ptx"].splitlines()
    assert any("scratch$first" in line for a, b in share.excerpts for line in lines[a - 1 : b])


def test_machine_code_is_attributed_to_the_fragment(modules, folder):
    facts = read_cubin(linked(kernel, modules, folder).asm["cubin"])
    assert sum(line.instructions for line in facts.lines if line.places[0][0] == str(folder / "first.cu")) > 5


@pytest.mark.parametrize("debug", ["", "-g", "-gline-directives-only"])
def test_every_kind_of_debug_information_links(folder, debug):
    module = prepared(folder, "first", debug=debug)
    compiled = linked(kernel_of_one, {"first": module}, folder)
    verify_kernel(compiled.asm["ptx"], inlined={"first": True})


def test_a_kernel_without_lines_takes_a_fragment_with_lines(modules, folder, monkeypatch):
    monkeypatch.setattr(triton.knobs.compilation, "disable_line_info", True)
    compiled = linked(kernel_of_one, {"first": modules["first"]}, folder)
    verify_kernel(compiled.asm["ptx"], inlined={"first": True})


def test_a_fragment_stripped_of_lines_links(folder):
    text = normalise(read_module(prepared(folder, "first").text), keep_debug_info=False).text
    compiled = compile_kernel(kernel_of_one, SIGNATURE, {"B": 128}, {"first": text}, folder)
    assert str(folder / "first.cu") not in {share.file for share in instructions_by_file(compiled.asm["ptx"])}


def test_noinline_and_printf_stay_calls_as_foretold(folder):
    module = prepared(folder, "first", KEPT)
    compiled = linked(kernel_of_one, {"first": module}, folder)
    verify_kernel(compiled.asm["ptx"], compiled.asm["cubin"], inlined={"first": True})
    assert module.kept_calls == ("_Z4keptf", "vprintf")
    assert {call.target for call in read_ptx(compiled.asm["ptx"]).calls} == {"_Z4keptf$first", "vprintf"}
    assert "_Z4keptf$first" in read_cubin(compiled.asm["cubin"]).calls


def test_a_region_kept_apart_stays_one_call(folder):
    module = prepared(folder, "first", inline=False)
    ptx = read_ptx(linked(kernel_of_one, {"first": module}, folder).asm["ptx"])
    verify_kernel(ptx, inlined={"first": False})
    assert [call.target for call in ptx.calls] == ["first"]


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_dynamic_shared_memory_is_aligned_beside_odd_static_variables(modules, folder, capability):
    def hook(self=None, stages=None, options=None, language=None, capability=None):
        if self is None:
            return "alignment", "alignment"
        stock = stages["llir"]
        stages["llir"] = lambda source, metadata: dynamic_shared_alignment(read_module(stock(source, metadata))).text
        return None

    plain = linked(kernel, modules, folder, capability=capability)
    aligned = linked(kernel, modules, folder, capability=capability, hook=hook)
    assert ".align 1024 .b8 global_smem[]" in aligned.asm["ptx"]
    before, after = (read_cubin(compiled.asm["cubin"]).static_shared for compiled in (plain, aligned))
    # The static part ends where the dynamic block starts: at 16 before, at the next 1024 now.
    assert before == 16
    assert after == 1024
