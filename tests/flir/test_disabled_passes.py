"""``TLE_RAW_DISABLE_PASSES``: code without passes that exist for speed, in kernels that are kept apart; promises."""

from types import SimpleNamespace

import numpy as np
import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import tle_raw
from tests.support import compile_kernel
from tle_raw import Element, InOut, Pointer, Tile
from tle_raw.errors import KnobError, MissingPatternError
from tle_raw.flir.cpu.passes import CPU
from tle_raw.flir.nvidia.passes import NVIDIA
from tle_raw.flir.nvidia.pipeline import Compilation
from tle_raw.flir.run_stage import run_stage
from tle_raw.host.cpu import host_cpu
from tle_raw.linker.llvm.no_vectors import keeps_scalars

pytestmark = pytest.mark.every_triton(2)

# Each thread divides twice before it stores.
DIVIDING = """
#include <tle_raw/tile.h>
template <int M> __device__ void divided(tle::tile<float, M> t, float* o) {
  int i = threadIdx.x;
  float a = t[i] / o[i], b = t[i] / o[i + M];
  o[i] = a; o[i + M] = b;
}
"""
PACKING = """
__device__ unsigned packed(unsigned x, unsigned y) {
  unsigned short low, high;  // opaque, as conversions of halves are
  asm("cvt.u16.u32 %0, %1;" : "=h"(low) : "r"(x));
  asm("cvt.u16.u32 %0, %1;" : "=h"(high) : "r"(y));
  return unsigned(low) | unsigned(high) << 16;
}
"""
KERNEL = "__global__ void doubled(float* x) { x[threadIdx.x] *= 2; }"


@tle_raw.dialect("cuda", source=DIVIDING)
def divided(t: InOut[Tile["f32", "M"]], o: Pointer["f32"]): ...


@tle_raw.dialect("cuda", source=PACKING)
def packed(x: Element["u32"], y: Element["u32"]) -> Element["u32"]: ...


@tle_raw.dialect("cuda", source=KERNEL)
def doubled(x: Pointer["f32"]): ...


@triton.jit
def dividing(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, divided(tl.load(x + i), o))


@triton.jit
def packing(x, y, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, packed(tl.load(x + i), tl.load(y + i)))


@triton.jit
def doubling(x, B: tl.constexpr):
    doubled(x)


@triton.jit
def softmax(x, o, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    e = tl.exp(tl.load(x + i))
    tl.store(o + i, e / tl.sum(e, 0))


@pytest.fixture
def knobs():
    with tle_raw.knobs.scope() as knobs:
        yield knobs


def lines(kernel, form, *words):
    return [line for line in kernel.asm[form].splitlines() if any(word in line for word in words)]


def on_gpu(kernel=dividing, names="xo"):
    return compile_kernel(kernel, dict.fromkeys(names, "*fp32" if kernel is not packing else "*u32"), {"B": 128})


def test_a_pass_over_ptx_is_left_out_and_the_kernel_is_another_one(knobs):
    fast = on_gpu()
    knobs.disable_passes = "spread-divisions"
    slow = on_gpu()
    assert slow.hash != fast.hash
    order = [[line.split()[0] for line in lines(k, "ptx", "div.rn", "st.global")] for k in (slow, fast)]
    assert order[0] != order[1] and sorted(order[0]) == sorted(order[1])
    knobs.disable_passes = ""
    assert on_gpu().hash == fast.hash


@pytest.mark.one_triton
def test_a_pass_over_fragments_is_left_out_and_the_fragment_is_another_one(knobs):
    fast = packed.compile("cuda:90")
    knobs.disable_passes = "pack-halves"
    slow = packed.compile("cuda:90")
    assert "insertelement <2 x i16>" in fast.text and "insertelement" not in slow.text
    assert slow.path != fast.path
    assert "insertelement" not in on_gpu(packing, "xy").asm["llir"]


@pytest.mark.one_triton
def test_scalars_may_be_packed_where_that_is_not_disabled(knobs):
    assert keeps_scalars(doubled.compile("cuda:90").text)
    kept = on_gpu(doubling, "x")
    knobs.disable_passes = "keep-scalars"
    assert not keeps_scalars(doubled.compile("cuda:90").text)
    free = on_gpu(doubling, "x")
    assert kept.hash != free.hash
    assert not keeps_scalars(kept.asm["llir"]) and not keeps_scalars(free.asm["llir"])


@pytest.mark.one_triton
def test_libdevice_is_linked_if_it_is_not_left_out(knobs):
    """It makes no other code, and the compilation takes longer."""
    fast = on_gpu()
    knobs.disable_passes = "leave-out-libdevice"
    assert on_gpu().asm["ptx"].count("\n") == fast.asm["ptx"].count("\n")


@pytest.mark.one_triton
def test_the_key_of_a_fragment_says_what_is_disabled(knobs, monkeypatch):
    keys = [divided.cache_key]
    for names in ("pair-words", "pair-words,spread-divisions"):
        monkeypatch.setenv("TLE_RAW_DISABLE_PASSES", names)
        keys.append(divided.cache_key)
    assert len(set(keys)) == 3
    monkeypatch.delenv("TLE_RAW_DISABLE_PASSES")
    assert divided.cache_key == keys[0]


CPU_PASSES = {
    "prefetch": ("llvm.prefetch", True),
    "stream-stores": ("!nontemporal", host_cpu().vector_bytes >= 32),
    "multiply-by-reciprocals": ("llvm.fma.v", host_cpu().vector_bytes >= 64 and host_cpu().fma),
}


@pytest.mark.parametrize("name", CPU_PASSES)
def test_a_pass_for_the_cpu_is_left_out_and_the_kernel_is_another_one(knobs, name):
    word, is_made = CPU_PASSES[name]
    target = GPUTarget("cpu", 0, 32)
    source = ASTSource(softmax, {"x": "*fp32", "o": "*fp32", "B": "constexpr"}, {"B": 4096})

    def count():
        kernel = triton.compile(source, target=target)
        return kernel.asm["llvmir"].count(word), kernel.hash

    fast, fast_hash = count()
    knobs.disable_passes = name
    slow, slow_hash = count()
    assert slow < fast if is_made else slow == fast
    assert slow_hash != fast_hash


def test_every_pass_for_the_cpu_is_tried():
    assert set(CPU_PASSES) == {each.name for each in CPU if each.for_speed}


@pytest.mark.one_triton
def test_a_running_process_sees_it_and_numbers_stay_right(knobs):
    knobs.target = "cpu"
    x = np.random.default_rng(0).standard_normal((8, 4096)).astype(np.float32)
    wanted = np.exp(x, dtype=np.float64)
    wanted /= wanted.sum(1, keepdims=True)
    kernels = []
    for names in ("", ",".join(CPU_PASSES), ""):
        knobs.disable_passes = names
        out = np.zeros_like(x)
        kernels.append(softmax[(8,)](x, out, 4096))
        np.testing.assert_allclose(out, wanted, rtol=1e-5)
    assert kernels[0] is kernels[2] is not kernels[1]
    assert kernels[1].metadata.disabled_passes == "prefetch,stream-stores,multiply-by-reciprocals"


@pytest.mark.one_triton
@pytest.mark.parametrize("target", ["cuda", "cpu"])
def test_a_wrong_name_is_an_error_of_the_compilation(knobs, monkeypatch, target):
    monkeypatch.setenv("TLE_RAW_DISABLE_PASSES", "vectorise")
    with pytest.raises(KnobError, match=r"vectorise|TLE_RAW_DISABLE_PASSES"):
        if target == "cuda":
            on_gpu()
        else:
            source = ASTSource(softmax, {"x": "*fp32", "o": "*fp32", "B": "constexpr"}, {"B": 64})
            triton.compile(source, target=GPUTarget("cpu", 0, 32))


# What is promised: the text of a module in which the pattern cannot be found.


def compilation(module, **more):
    found = Compilation(SimpleNamespace(maxnreg=None), 90)
    found.enter(None, module, {"num_warps": 4, "shared": 0})
    for name, value in more.items():
        setattr(found, name, value)
    return found


def run(name, state):
    each = next(each for each in NVIDIA if each.name == name)
    run_stage([each], each.stage, state)


FRAGMENT = SimpleNamespace(register_limit=168, name="f", text="attributes #0 = { noimplicitfloat nounwind }")


@pytest.mark.parametrize(
    ("name", "module", "more"),
    [
        ("limit-registers", 'module attributes = {"ttg.num-warps" = 4}', {"compiled": [FRAGMENT]}),
        ("launch-exact-block", 'attributes #0 = { "nvvm.other"="128" }', {"threads": 384}),
        ("keep-scalars", "attributes #0 = { nounwind }", {"compiled": [FRAGMENT]}),
        ("keep-scalars", "define void @k() noimplicitfloat {", {"compiled": []}),
    ],
)
def test_a_pattern_that_was_promised_and_is_not_there_is_an_error(name, module, more):
    with pytest.raises(MissingPatternError, match=f"`{name}` did not find"):
        run(name, compilation(module, **more))


def test_a_pattern_that_is_there_is_found():
    state = compilation('module attributes {"ttg.num-warps" = 4 : i32} {', compiled=[FRAGMENT])
    run("limit-registers", state)
    assert 'module attributes {ttg.maxnreg = 168 : i32, "ttg.num-warps"' in state.module
    state = compilation('attributes #0 = { "nvvm.reqntid"="128" }', threads=384)
    run("launch-exact-block", state)
    assert state.module == 'attributes #0 = { "nvvm.reqntid"="384" }' and state.metadata["num_warps"] == 12
    state = compilation("attributes #0 = { noimplicitfloat nounwind }", compiled=[FRAGMENT])
    run("keep-scalars", state)
    assert state.module == "attributes #0 = { nounwind }"


def test_barriers_whose_notes_cannot_be_read_are_an_error(monkeypatch):
    monkeypatch.setattr("tle_raw.flir.nvidia.calls.state.parse_module", lambda text, context: text)
    line = '  %0 = tt.extern_elementwise %1 {libname = "tle.barrier:tiles before", symbol = "tle_raw_f"} : (i32) -> i32'
    placements = [SimpleNamespace(pinned=False)]
    with pytest.raises(MissingPatternError, match="`insert-barriers` did not find"):
        run("insert-barriers", compilation(line, placements=placements, lines=[line]))


def test_nothing_is_promised_where_a_branch_may_leave_a_region_out():
    state = compilation("attributes #0 = { nounwind }", compiled=[FRAGMENT], has_branches=True)
    run("keep-scalars", state)
    assert state.module == "attributes #0 = { nounwind }"


@pytest.mark.parametrize(
    ("knob", "value"), [("disable_passes", "arrive-by-warps"), ("racecheck", True), ("like_nvcc", True)]
)
def test_kernels_without_fragments_are_kept_apart_too(knob, value):
    from tle_raw.frontends.lite.package_key import PACKAGE

    plain = PACKAGE.cache_key
    with tle_raw.knobs.scope() as knobs:
        setattr(knobs, knob, value)
        assert PACKAGE.cache_key != plain
    assert PACKAGE.cache_key == plain
