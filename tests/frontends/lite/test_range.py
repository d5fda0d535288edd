"""Loops with groups: stages and clusters in TritonGPU, copies in PTX, numbers on the CPU."""

import inspect
import re

import numpy as np
import pytest
import triton
import triton.language as tl
from triton import knobs

import tle_raw.language as tle
from tests.frontends.lite import pipeline_kernels as kernels
from tests.support import compile_kernel
from tle_raw.flir.nvidia.grouped_ttgir import pipeline_groups, settle_layouts

PRODUCT = {"a": "*fp16", "b": "*fp16", "o": "*fp32", "m": "i32", "n": "i32", "k": "i32"}
GATHERED = {"x": "*fp32", "index": "*i32", "o": "*fp32", "n": "i32", "width": "i32"}
ROWS = {"x": "*fp32", "o": "*fp32", "n": "i32"}
FLASH = {"q": "*fp16", "kv": "*fp16", "o": "*fp32", "n": "i32"}
TILE = 64 * 64 * 2
ORDERS = (0, 1, 2)


def product(stages, capability=90, orders=ORDERS):
    constants = {"B": 64, "STAGES": stages, "ORDERS": orders}
    return compile_kernel(kernels.product, PRODUCT, constants, capability, multiples=("n", "k"))


def gathered(stages, capability=90, is_async=False):
    constants = {"B": 1024, "STAGES": stages, "ASYNC": is_async}
    return compile_kernel(kernels.gathered, GATHERED, constants, capability, multiples=("width",))


def rows(name, capability=90, signature=ROWS, **constants):
    return compile_kernel(getattr(kernels, name), signature, {"B": 1024, **constants}, capability)


def count(kernel, pattern):
    return len(re.findall(pattern, kernel.asm["ptx"]))


def copies(kernel):
    return count(kernel, r"cp\.async\.c[ag]")


def waits(kernel):
    """The number of groups that each wait leaves under way."""
    return [int(n) for n in re.findall(r"cp\.async\.wait_group\s+(\d+|0x\d+)", kernel.asm["ptx"])]


def code(kernel):
    """PTX without debug information and names."""
    lines = (re.sub("by_triton|by_tle", "kernel", line) for line in kernel.asm["ptx"].splitlines())
    return [line for line in lines if not re.match(r"\s*(\.loc|\$L__tmp|\.file|//|\.b8|\.b32|\.b64)", line)]


@pytest.fixture
def shown(monkeypatch, capsys):
    """What a pass leaves, by the pass's name."""
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    monkeypatch.setenv("TLE_RAW_PRINT_AFTER", "all")

    def after(name):
        sections = re.split(r"^.*?after `?([a-z-]+)`?.*$", capsys.readouterr().err, flags=re.MULTILINE)
        return dict(zip(sections[1::2], sections[2::2]))[name]

    return after


def places(text):
    """(operation, stage, cluster) of each scheduled operation."""
    pattern = r"(?:= |^ *)([a-z]+\.[\w.]+) .*loop\.cluster = (\d+) : i32, loop\.stage = (\d+) : i32"
    found = (re.search(pattern, line) for line in text.splitlines())
    return [(match[1], int(match[3]), int(match[2])) for match in found if match]


def test_every_operation_has_the_stage_and_the_cluster_of_its_group(shown):
    product((0, 1, 3))
    text = shown("schedule-groups")
    placed = places(text)
    by_name = {}
    for name, stage, cluster in placed:
        by_name.setdefault(name, set()).add((stage, cluster))
    assert by_name["tt.load"] == {(0, 2), (1, 1)}
    assert by_name["ttng.warp_group_dot"] == {(3, 0)} and by_name["ttg.local_alloc"] == {(3, 0)}
    assert "tt.scheduled_max_stage = 3 : i32" in text and "tle.pipe_stages" not in text
    loop = text[text.index("scf.for") : text.index("tt.scheduled_max_stage")]
    assert len(loop.splitlines()) - len(("scf.for", "scf.yield", "}")) == len(placed)


def test_later_stages_and_then_orders_decide_about_the_clusters(shown):
    product((0, 0, 1), orders=(7, 3, 0))
    placed = places(shown("schedule-groups"))
    loads = [cluster for name, _, cluster in placed if name == "tt.load"]
    assert loads == [2, 1]  # the second group first, as it is ordered
    assert {cluster for name, _, cluster in placed if name == "ttng.warp_group_dot"} == {0}


@pytest.mark.every_triton(3)
@pytest.mark.parametrize("ahead, capability", [(1, 90), (2, 90), (3, 90), (2, 80), (3, 100)])
def test_what_is_loaded_ahead_is_copied_in_the_background(ahead, capability):
    kernel = product((0, 0, ahead), capability)
    assert copies(kernel) > 0 and count(kernel, r"ld\.global") == 0 and "cubin" in kernel.asm
    rings = ahead + (capability == 90)  # wgmma reads its operands in place, and one more buffer is filled
    assert kernel.metadata.shared // TILE == 2 * rings
    assert max(waits(kernel)) == 2 * (ahead - 1)
    assert count(kernel, r"cp\.async\.commit_group") >= 2 * ahead + 2


def test_each_load_has_the_buffers_of_its_own_distance():
    assert product((0, 1, 3)).metadata.shared == (4 + 3) * TILE
    assert product((0, 2, 3), 80).metadata.shared == (3 + 1) * TILE


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_a_chain_of_loads_overlaps(capability):
    kernel = gathered((0, 2, 4), capability)
    assert copies(kernel) > 0 and count(kernel, r"ld\.global") == 0
    assert kernel.metadata.shared == 2 * 2 * 1024 * 4
    assert 2 in waits(kernel) and 1 in waits(kernel)


@pytest.mark.parametrize("stages", [(0, 1, 2), (0, 2, 4)])
def test_asynchronous_loads_are_as_far_ahead_as_their_groups(stages):
    assert code(gathered(stages, is_async=True)) == code(gathered(stages))


@pytest.mark.every_triton(2)
@pytest.mark.parametrize("stages, capability", [(3, 80), (2, 90), (3, 90), (4, 90)])
def test_the_pipeline_is_that_of_triton_where_the_stages_are(capability, stages):
    """The same copies, waits, barriers and products as Triton's own schedule of as many stages."""
    names = r"cp\.async\S*|mma\S*\.m\d+n\d+k\d+|bar\.sync|ld\.shared\S*|ldmatrix\S*"
    ours = re.findall(names, product((0, 0, stages - 1), capability).asm["ptx"])
    constants = {"B": 64, "STAGES": stages, "ORDERS": None}
    triton_s = compile_kernel(kernels.product, PRODUCT, constants, capability, multiples=("n", "k"))
    theirs = re.findall(names, triton_s.asm["ptx"])
    assert sorted(ours) == sorted(theirs)
    assert waits(triton_s) == waits(product((0, 0, stages - 1), capability))


@triton.jit
def by_triton(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for row in tl.range(0, n, 2, num_stages=3, loop_unroll_factor=2, disable_licm=True):
        acc += tl.load(x + row * B + i)
    tl.store(o + i, acc)


@triton.jit
def by_tle(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for row in tle.range(0, n, 2, num_stages=3, loop_unroll_factor=2, disable_licm=True):
        acc += tl.load(x + row * B + i)
    tl.store(o + i, acc)


def test_without_arguments_of_its_own_it_is_tl_range():
    ours, theirs = (compile_kernel(each, ROWS, {"B": 1024}) for each in (by_tle, by_triton))
    assert code(ours) == code(theirs)


def test_a_number_of_stages_is_num_stages():
    assert (
        list(inspect.signature(tl.range.__init__).parameters)[1:] == list(inspect.signature(tle.range).parameters)[:9]
    )
    kernel = rows("automatic", STAGES=3)
    assert 'symbol = "pipeline' not in kernel.asm["ttir"] and "tt.num_stages = 3" in kernel.asm["ttir"]


def test_another_schedule_is_another_kernel():
    assert len({rows("automatic", STAGES=stages).hash for stages in (2, 3, (0, 1), (0, 2))}) == 4


@pytest.mark.every_triton(4)
@pytest.mark.parametrize(
    "name, capability",
    [("twice", 90), ("unrolled", 90), ("inner", 90), ("outer", 90), ("twice", 100), ("inner", 80), ("outer", 100)],
)
def test_loops_of_every_kind_compile(name, capability):
    constants = {} if name == "twice" else {"STAGES": (0, 2)}
    kernel = rows(name, capability, **constants)
    assert "cubin" in kernel.asm
    if name != "inner":
        assert copies(kernel) > 0 and max(waits(kernel)) > 0
    if name == "twice":
        assert kernel.metadata.shared == 3 * 1024 * 4


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_products_in_two_stages(capability):
    constants = {"B": 64, "STAGES": (0, 0, 1, 2)}
    kernel = compile_kernel(kernels.attention, FLASH, constants, capability)
    assert copies(kernel) > 0 and "cubin" in kernel.asm
    if capability == 90:
        assert count(kernel, r"wgmma\.mma_async") > 4


def test_descriptors_load_ahead():
    constants = {"B": 64, "STAGES": (0, 2)}
    kernel = compile_kernel(kernels.by_descriptor, {**ROWS, "x": "*fp16"}, constants)
    assert count(kernel, r"cp\.async\.bulk\.tensor") == 3 and kernel.metadata.shared >= 3 * TILE


def test_groups_of_one_stage_are_put_in_order():
    kernel = product((0, 0, 0))
    assert copies(kernel) == 0 and count(kernel, r"ld\.global") > 0
    loads = [
        re.search(r"%(\w+) = tt\.load", line) for line in product((0, 0, 0), orders=(1, 0, 2)).asm["ttgir"].split("\n")
    ]
    assert [m[1][0] for m in loads if m] == ["y", "x"]


def test_reorder_puts_the_loads_of_an_unrolled_body_first():
    def order(reorder):
        ptx = rows("reordered", REORDER=reorder).asm["ptx"]
        return re.sub(r"(.)\1+", r"\1", "".join(re.findall(r"\b([ls])[dt]\.global", ptx)))

    assert order(False).startswith("lslsls") and order(True) == "lsls"


def test_what_has_no_groups_goes_untouched(monkeypatch):
    """Triton's passes in two halves make what Triton's stage makes."""
    earlier, used = knobs.runtime.add_stages_inspection_hook, []

    def hook(*arguments):
        key = earlier(*arguments)
        if arguments:
            _, stages, options, _, capability = arguments

            def ttgir(module, metadata):
                used.append(capability)
                settle_layouts(module, options, capability)
                pipeline_groups(module, metadata, options, capability)
                return module

            stages["ttgir"] = ttgir
        return key

    for capability in (80, 90, 100):
        constants = {"B": 64, "STAGES": 3, "ORDERS": None}
        cases = [(kernels.product, PRODUCT, constants), (by_triton, ROWS, {"B": 1024})]
        for kernel, signature, constants in cases[: 2 if capability == 90 else 1]:
            theirs = compile_kernel(kernel, signature, constants, capability)
            with monkeypatch.context() as patched:
                patched.setenv("TRITON_ALWAYS_COMPILE", "1")
                patched.setattr(knobs.runtime, "add_stages_inspection_hook", hook)
                ours = compile_kernel(kernel, signature, constants, capability)
            assert ours.asm["ptx"] == theirs.asm["ptx"]
    assert used == [80, 90, 90, 100]


# --- numbers on the CPU -------------------------------------------------------------------------------------------

SCHEDULES = [3, (0, 0, 0), (0, 0, 1), (0, 1, 3)]


def random(*shape, dtype=np.float32):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


@pytest.mark.every_triton(3)
@pytest.mark.parametrize(
    "size, stages",
    [((1, 1, 1), SCHEDULES[3]), *(((33, 47, 100), each) for each in SCHEDULES), ((64, 32, 31), SCHEDULES[2])],
)
def test_products_on_the_cpu(size, stages):
    pytest.importorskip("torch_mlir")
    m, n, k = size
    a, b, o = random(m, k, dtype=np.float16), random(k, n, dtype=np.float16), np.zeros((m, n), np.float32)
    grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
    kernels.product[grid](a, b, o, m, n, k, B=32, STAGES=stages, ORDERS=None if stages == 3 else (1, 0, 2))
    np.testing.assert_allclose(o, a.astype("d") @ b.astype("d"), rtol=1e-4, atol=1e-4)


@pytest.mark.every_triton(1)
@pytest.mark.parametrize("stages", [2, (0, 1, 2), (0, 2, 4)])
def test_chains_on_the_cpu(stages):
    pytest.importorskip("torch_mlir")
    x, index = random(501), np.random.default_rng(1).integers(0, 501, (7, 100)).astype(np.int32)
    o = np.zeros((7, 100), np.float32)
    kernels.gathered[(2,)](x, index, o, 7, 100, B=64, STAGES=stages, ASYNC=True)
    np.testing.assert_allclose(o, x.astype("d")[index].cumsum(0), rtol=1e-5, atol=1e-5)


def check_loops(run):
    """Every kind of loop gives its numbers; ``run(name, x, o, n, **constants)`` launches it."""
    x = random(9, 64)
    wide = x.astype("d")
    o = run("automatic", x, np.zeros(64, np.float32), 9, STAGES=(0, 2))
    np.testing.assert_allclose(o, wide.sum(0), rtol=1e-5, atol=1e-5)
    o = run("twice", x, np.zeros(64, np.float32), 9)
    np.testing.assert_allclose(o, 2 * wide.sum(0), rtol=1e-5, atol=1e-5)
    o = run("unrolled", x, np.zeros(64, np.float32), 9, STAGES=(0, 2))
    np.testing.assert_allclose(o, (wide * np.arange(9)[:, None]).sum(0), rtol=1e-5, atol=1e-5)
    for count in (0, 1, 2, 9):
        o = run("known_count", x, np.zeros(64, np.float32), 9, COUNT=count, STAGES=(0, 3))
        np.testing.assert_allclose(o, wide[:count].sum(0), rtol=1e-5, atol=1e-5)
    o = run("downwards", x, np.zeros(64, np.float32), 9, STAGES=(0, 2))
    rows = np.arange(8, -1, -2)
    np.testing.assert_allclose(o, (wide[rows] * rows[:, None]).sum(0), rtol=1e-5, atol=1e-5)
    o = run("unrolled_around", x, np.zeros(64, np.float32), 9)
    np.testing.assert_allclose(o, 3 * wide.sum(0), rtol=1e-5, atol=1e-5)
    for stages in ((0, 0), (0, 2)):
        o = run("handed_on", x, np.zeros(64, np.float32), 9, STAGES=stages)
        np.testing.assert_allclose(o, wide[:8].sum(0) + 16, rtol=1e-5, atol=1e-5)
    o = run("reordered", x, np.zeros((9, 64), np.float32), 9, REORDER=True)
    np.testing.assert_array_equal(o, x * 2)
    o = run("outer", x, np.zeros((9, 64), np.float32), 9, STAGES=(0, 1))
    np.testing.assert_allclose(o, wide.cumsum(0), rtol=1e-5, atol=1e-5)
    o = run("inner", x, np.zeros((12, 64), np.float32), 9, STAGES=(0, 1))
    values = np.where((np.arange(9) % 2 == 0)[:, None], wide, 1)
    np.testing.assert_allclose(o[3:], values, rtol=1e-6)
    for turn in range(3):
        expected = values[4:].sum(0) - wide[turn:4].sum(0)
        np.testing.assert_allclose(o[turn], expected, rtol=1e-5, atol=1e-5)


def test_loops_of_every_kind_on_the_cpu():
    pytest.importorskip("torch_mlir")

    def run(name, x, o, n, **constants):
        getattr(kernels, name)[(1,)](x, o, n, B=64, **constants)
        return o

    check_loops(run)


def test_attention_on_the_cpu():
    pytest.importorskip("torch_mlir")
    q, kv, o = random(16, 16, dtype=np.float16), random(6, 16, 16, dtype=np.float16), np.zeros((16, 16), np.float32)
    kernels.attention[(1,)](q, kv, o, 3, B=16, STAGES=(0, 0, 1, 2))
    keys, values = (part.astype("d").reshape(-1, 16) for part in (kv[:3], kv[3:]))
    weights = np.exp(q.astype("d") @ keys.T)
    expected = weights @ values / weights.sum(1, keepdims=True)
    np.testing.assert_allclose(o, expected, rtol=1e-2, atol=1e-2)
