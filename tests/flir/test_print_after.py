"""``TLE_RAW_PRINT_AFTER``: the module after each pass of FLIR, under names that stay."""

import re

import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import tle_raw
import tle_raw.language as tle
from tests.support import compile_kernel
from tle_raw import InOut, Tile
from tle_raw.cli import main
from tle_raw.errors import KnobError
from tle_raw.flir import passes
from tle_raw.flir.cpu.passes import CPU as CPU_PASSES
from tle_raw.flir.nvidia.passes import NVIDIA as NVIDIA_PASSES
from tle_raw.flir.nvidia.passes import NVIDIA_BUFFERS
from tle_raw.host.cpu import host_cpu

pytestmark = pytest.mark.every_triton(6)

SOURCE = """
#include <tle_raw/tile.h>
template <int M> __device__ void turned(tle::tile<float, M> t) {
  __shared__ float last;
  if (threadIdx.x == 0) last = t[M - 1];
  __syncthreads();
  for (int i = threadIdx.x; i < M; i += blockDim.x) t[i] -= last;
}
"""


@tle_raw.dialect("cuda", source=SOURCE)
def turned(t: InOut[Tile["f32", "M"]]): ...


@triton.jit
def everything(x, o, n, B: tl.constexpr):
    """A loop whose barriers come late, shared memory of both kinds, an early return, a product."""
    if n < 0:
        return
    i = tl.arange(0, B)
    square = tl.load(x + i[:, None] * B + i[None, :])
    tl.store(o + i[:, None] * B + i[None, :], tl.dot(square, square, input_precision="ieee"))
    for k in range(n):
        tl.store(o + k * B + i, tl.exp(turned(tl.load(x + k * B + i))))


@triton.jit
def plain(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, i < n, 0))


# What `everything` asks for no pass of.
ABSENT = {"limit-registers", "keep-scalars", "launch-exact-block", "join-offsets", "prefetch"}
ABSENT |= {"choose-values", "words-of-halves", "join-pointers"}
ABSENT |= {"constant-factors", "constant-offsets", "plain-loops", "launch-bounds", "sink-values", "begin-with-loads"}
ABSENT |= {"unroll-once", "wide-products", "keep-branches", "raise-occupancy"}
# Passes of kernels with shared buffers, which it has none of.
ABSENT |= {"open-crossings", "close-crossings", "multiply-in-place", "lower-tma-copy", "lower-async-load"}
ABSENT |= {"leave-loops", "explicit-ttgir", "keep-waits", "place-named-barriers", "keep-operands"}
ABSENT |= {"order-copies", "unwanted-barriers", "store-in-place"}
ABSENT |= {"release-layouts", "read-back"}
# Of kernels with specialised warps.
ABSENT |= {"check-partitions", "lay-out-descriptors", "arrive-by-warps", "fence-partitions"}
ABSENT |= {"yield-products", "defer-stores"}
# What knobs.like_nvcc asks for.
ABSENT |= {"branch-back"}
# Passes of kernels whose loops have groups.
ABSENT |= {"specialise-executors", "convert-results"}
ABSENT |= {"pipeline-hints", "reorder-loads", "label-groups", "schedule-groups", "leave-out-groups"}
# And of kernels that point into them.
ABSENT |= {"take-addresses", "order-pointers", "shared-accesses"}
# Of kernels whose blocks form clusters or meet.
ABSENT |= {"place-clusters", "join-clusters"}
if host_cpu().vector_bytes < 64 or not host_cpu().fma:
    ABSENT.add("multiply-by-reciprocals")
if host_cpu().vector_bytes < 32:
    ABSENT.add("stream-stores")
ABSENT.add("lower-tma-copy")


def shown_names(pipeline):
    return [each.name for each in pipeline if each.can_be_shown and each.name not in ABSENT]


DUMP, NVIDIA, CPU = map(shown_names, (passes.DUMP, NVIDIA_PASSES, CPU_PASSES))
NAMES = {"cuda": [*DUMP, *NVIDIA], "cpu": [*CPU, *DUMP]}
LLVM_IR = {
    "link-fragments",
    "launched-structs",
    "wide-copies",
    "join-offsets",
    "constant-factors",
    "constant-offsets",
    "choose-values",
    "words-of-halves",
    "plain-loops",
    "join-pointers",
    "launch-bounds",
    "align-shared-memory",
    "translate-to-llvmir",
    "carry-bfloats",
}
PTX = {each.name for each in NVIDIA_PASSES if each.stage == "ptx"}
ASSEMBLY = {"link-host-code"}  # the rest is MLIR


def compile_for(target, kernel=everything):
    types = {"x": "*fp32", "o": "*fp32", "n": "i32"}
    if target == "cuda":
        return compile_kernel(kernel, types, {"B": 64})
    source = ASTSource(kernel, {**types, "B": "constexpr"}, {"B": 64})
    return triton.compile(source, target=GPUTarget("cpu", 0, 32))


@pytest.fixture
def shown(monkeypatch, capsys):
    """The texts that a compilation shows, by the pass."""
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")

    def shown(target, wanted, kernel=everything):
        monkeypatch.setenv("TLE_RAW_PRINT_AFTER", wanted)
        kernel = compile_for(target, kernel)
        pieces = re.split(r"^// ----- tle_raw after (.*) -----\n", capsys.readouterr().err, flags=re.MULTILINE)
        return dict(zip(pieces[1::2], pieces[2::2])), kernel

    return shown


@pytest.mark.one_triton
@pytest.mark.parametrize("target", NAMES)
def test_all_shows_every_pass_in_order(shown, target):
    texts, kernel = shown(target, "all")
    listed = NVIDIA if target == "cuda" else CPU
    assert [name for name in texts if name not in DUMP] == listed
    assert set(texts) == set(NAMES[target])
    assert texts["show-regions"].strip() == kernel.asm["tle"].strip()


@triton.jit
def multiplied(x, o, n, B: tl.constexpr):
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    a = tle.gpu.alloc([B, B], dtype=tl.float16)
    tle.gpu.copy(x + at, a, [B, B], is_async=True)
    tle.gpu.async_commit_group()
    tle.gpu.async_wait_group(0)
    c = tl.zeros((B, B), tl.float32)
    for _ in range(n):
        c = tl.dot(a.load(), tle.load(x + at, is_async=True), c)
    tl.store(o + at, c)


def test_the_passes_of_shared_buffers_are_shown_in_order(monkeypatch, capsys):
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    monkeypatch.setenv("TLE_RAW_PRINT_AFTER", "all")
    compile_kernel(multiplied, {"x": "*fp16", "o": "*fp32", "n": "i32"}, {"B": 64})
    shown = re.findall(r"^// ----- tle_raw after (.*) -----\n", capsys.readouterr().err, flags=re.MULTILINE)
    order = [each.name for each in NVIDIA_BUFFERS]
    assert shown == sorted(shown, key=order.index) and {"open-crossings", "close-crossings"} < set(shown)


@pytest.mark.parametrize("target", NAMES)
def test_modules_are_whole_and_have_the_users_lines(shown, target):
    texts, _ = shown(target, "all")
    for name, text in texts.items():
        if name in LLVM_IR:
            assert re.search(r"^define .*@everything\(", text, re.MULTILINE)
        elif name in PTX:
            assert ".entry everything(" in text and f'"{__file__}"' in text
        elif name in ASSEMBLY:
            assert re.search(r"^tle_launch:", text, re.MULTILINE)
        else:
            assert f'"{__file__}":' in text and re.search(
                r"^(builtin\.)?module|^\"builtin.module\"", text, re.MULTILINE
            )


# Whatever pass were shown unasked would be seen beside each of these; that each is shown is seen above.
ALONE = [(target, names[at]) for target, names in NAMES.items() for at in (0, len(names) // 2, -1)]


@pytest.mark.parametrize(("target", "name"), ALONE)
@pytest.mark.every_triton(3)
def test_one_pass_is_shown_alone(shown, target, name):
    assert list(shown(target, name)[0]) == [name]


@pytest.mark.one_triton
def test_upstream_reads_what_is_shown(shown):
    ir = pytest.importorskip("torch_mlir.ir")
    texts, _ = shown("cpu", "all")
    for name, text in texts.items():
        if name not in {*LLVM_IR, *ASSEMBLY, *DUMP, "simplify-ttir"}:
            with ir.Context() as context, ir.Location.unknown():
                context.allow_unregistered_dialects = True
                assert ir.Module.parse(text).operation.verify(), name


@pytest.mark.one_triton
@pytest.mark.parametrize("target", NAMES)
def test_showing_changes_no_code(shown, target):
    _, shown_kernel = shown(target, "all")
    _, silent = shown(target, "")
    for name in ("ptx",) if target == "cuda" else ("linalg", "llvmir", "asm"):
        assert shown_kernel.asm[name] == silent.asm[name]


def test_several_names_and_spaces_are_taken(shown):
    texts, _ = shown("cpu", " vectorise , place-buffers,vectorise")
    assert list(texts) == ["vectorise", "place-buffers"]


@triton.jit
def staged(x, o, n, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(o + at, tle.gpu.memory_space(tl.load(x + at), "shared_memory"))


SAME = {
    "early-assign-memory-space": {"cuda": "close-crossings", "cpu": "convert-to-linalg"},
    "convert-arg-to-memdesc": {"cuda": "replace-ports", "cpu": "convert-to-linalg"},
    "dsl-region-inline": {"cuda": "link-fragments", "cpu": "link-host-code"},
}


@pytest.mark.parametrize("target", ["cuda", "cpu"])
@pytest.mark.parametrize("name", SAME)
@pytest.mark.every_triton(3)
def test_names_that_passes_have_elsewhere_are_taken(shown, target, name):
    kernel = staged if name == "early-assign-memory-space" else everything
    texts, _ = shown(target, name, kernel)
    assert list(texts) == [SAME[name][target]]
    if kernel is staged and target == "cuda":
        assert "ttg.local_alloc" in texts["close-crossings"] and "ttg.local_load" in texts["close-crossings"]


def test_those_that_do_not_exist_for_speed_cannot_be_disabled():
    for name in [*SAME, "lower-async-load", "lower-tma-copy"]:
        with pytest.raises(KnobError):
            tle_raw.knobs.disable_passes = name
    assert passes.disabled_names("pair-words") == "pair-words"


def test_plain_kernels_show_nothing_on_a_gpu_and_the_cpus_passes_on_the_cpu(shown):
    assert shown("cuda", "all", plain)[0] == {}
    assert set(shown("cpu", "all", plain)[0]) | {"prefetch"} == {*CPU, "prefetch"} - {"structure-control-flow"}


@pytest.mark.parametrize("wrong", ["vectorize", "all,nothing", "replace-ports,", ",", "check-order", "pack-halves"])
def test_an_unknown_name_is_an_error_that_names_the_known_ones(monkeypatch, wrong):
    with pytest.raises(KnobError, match=r"insert-barriers.*expand-math"):
        tle_raw.knobs.print_after = wrong
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    monkeypatch.setenv("TLE_RAW_PRINT_AFTER", wrong)
    with pytest.raises(KnobError, match="TLE_RAW_PRINT_AFTER"):
        compile_for("cpu", plain)


def test_the_command_line_lists_the_passes(capsys):
    assert main(["inspect", "--passes"]) == 0
    words = capsys.readouterr().out.split()
    assert {word for each in passes.every_pass() for word in (each.name, f"tle_raw/{each.file}")} <= set(words)


def test_the_command_line_documents_the_dialect(capsys):
    assert main(["inspect", "--dialect"]) == 0
    assert "## `tle.dsl_region`" in capsys.readouterr().out


def test_the_command_line_wants_something_to_inspect(capsys):
    with pytest.raises(SystemExit) as e:
        main(["inspect"])
    assert e.value.code == 2
