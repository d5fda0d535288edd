"""Programs that have CUB in a namespace of their own, or may have it: its headers are precompiled for them, too."""

import itertools
import re
from pathlib import Path

import pytest

import tle_raw
from tle_raw.adapters.cpp import precompiled_headers
from tle_raw.adapters.cpp.dead_branches import undefined_macros, without_dead_branches
from tle_raw.adapters.cpp.options import Options
from tle_raw.adapters.cpp.preamble import headers_in_front, headers_to_read_ahead, wrapped_namespaces
from tle_raw.adapters.cpp.toolchain import find_toolchain
from tle_raw.adapters.cuda.host_files import ProgramFiles
from tle_raw.adapters.cuda.live_texts import live_texts

pytestmark = pytest.mark.one_triton
_NUMBERS = itertools.count()

WRAPPED = """
#ifdef OWN_CUB_USE_NAMESPACE
#define CUB_WRAPPED_NAMESPACE own
#endif
#include <cub/block/block_reduce.cuh>
#ifdef OWN_CUB_USE_NAMESPACE
#undef CUB_WRAPPED_NAMESPACE
#endif
namespace own {
__global__ void sums(float* x) {
  using Reduce = cub::BlockReduce<float, 64>;
  __shared__ typename Reduce::TempStorage storage;
  const float sum = Reduce(storage).Sum(x[blockIdx.x * 64 + threadIdx.x]);
  if (threadIdx.x == 0) x[blockIdx.x * 64] = sum;
}
}
"""


@pytest.fixture
def runs(monkeypatch, tmp_path):
    """The commands of the front end: whether with precompiled headers; and what was precompiled."""
    made, run, precompile = [], precompiled_headers.run_compiler, precompiled_headers._precompile

    def compiler(command, *rest):
        made.append("-include-pch" in command)
        return run(command, *rest)

    def noted(store, key, command, text, timeout):
        made.append(text)
        return precompile(store, key, command, text, timeout)

    monkeypatch.setattr(precompiled_headers, "run_compiler", compiler)
    monkeypatch.setattr(precompiled_headers, "_precompile", noted)
    with tle_raw.knobs.scope() as knobs:
        knobs.cache.dir, knobs.target = str(tmp_path / "cache"), "cuda:90"
        yield made
    precompiled_headers._USELESS.clear()


def compiled(text, **options):
    text = f"{text}\n// {next(_NUMBERS)}\n"
    return tle_raw.fragment(text, dialect="cuda", symbol="own::sums", **options).as_kernel(block=64).compile("cuda:90")


@pytest.mark.parametrize("defines", [(), ("OWN_CUB_USE_NAMESPACE",)], ids=["not wrapped", "wrapped"])
def test_one_run_reads_the_headers_and_each_other_one_takes_them(runs, defines):
    kernel = compiled(WRAPPED, defines=defines)
    headers, *others = runs
    assert "cub/block/block_reduce.cuh" in headers and ("#define CUB_WRAPPED_NAMESPACE own" in headers) == bool(defines)
    assert others == [True, True], "the prototype and the code"
    with tle_raw.knobs.scope() as knobs:
        knobs.cache.enabled = False
        plain = compiled(WRAPPED, defines=defines)
    assert _code(kernel) == _code(plain)


def _code(kernel):
    """Its PTX without what tells places, and without the names that each source has of its own."""
    lines = re.sub(r"sums_[0-9a-f]{16}", "sums", kernel.asm["ptx"]).splitlines()
    return [line for line in lines if line[:1] == "\t" and not line.lstrip().startswith((".loc", ".file", "//"))]


def test_a_macro_that_a_text_may_define_is_not_known():
    asked = "#ifdef OWN_FAST\n#define CCCL_DISABLE_BF16_SUPPORT\n#endif\n#include <cub/cub.cuh>\n"
    assert undefined_macros([asked], ()) == {"OWN_FAST"} and undefined_macros([asked], {"OWN_FAST"}) == frozenset()
    for name in ("__CUDA_ARCH__", "TORCH_VERSION", "USE_ROCM", "CUB_DEBUG", "CUDA_VERSION", "FAST", "M_PI", "Own_Fast"):
        assert undefined_macros([f"#if defined({name}) && 1\n#endif"], ()) == frozenset()
    assert "#define" not in without_dead_branches(asked, undefined={"OWN_FAST"})
    assert "#define" in without_dead_branches(asked, defined={"OWN_FAST"})
    assert "#define" in without_dead_branches("#if OWN_FAST\n#define X\n#endif", defined={"OWN_FAST"}), "it may be 0"


@pytest.fixture
def live(cuda):
    """The text without its dead branches."""

    def of(text, **options):
        source = cuda.read(name="k", source=f'{text}\nextern "C" __device__ void k() {{}}', **options)
        return live_texts(source, ProgramFiles((), (source.text,)))[0]

    return of


@pytest.mark.parametrize("options", [{"defines": ("OWN_FAST=1",)}, {"flags": ("-DOWN_FAST",)}])
def test_a_macro_that_is_given_is_no_unknown_one(live, options):
    asked = "#ifdef OWN_FAST\nint fast;\n#endif\n"
    assert "int fast" not in live(asked) and "int fast" in live(asked, **options)


def test_headers_of_unknown_libraries_may_define_any_macro(live):
    asked = "#include <somebodys/settings.h>\n#ifdef OWN_FAST\nint fast;\n#endif\n"
    assert "int fast" in live(asked) and "int fast" not in live(asked.replace("somebodys/settings.h", "cuda_fp16.h"))


def test_a_namespace_that_is_not_the_same_for_all_texts_keeps_the_headers_in_their_place():
    wraps = "#define CUB_WRAPPED_NAMESPACE {}\n"
    assert wrapped_namespaces([wraps.format("a"), wraps.format("a")]) == (("CUB_WRAPPED_NAMESPACE", "a"),)
    for texts in (
        [wraps.format("a"), wraps.format("b")],
        [wraps.format("a"), wraps.format("JOIN(a, b)")],
        [wraps.format("")],
    ):
        assert wrapped_namespaces(texts) is None
        options = Options(None, "text", None)
        assert headers_to_read_ahead(("cub/cub.cuh",), texts, options, find_toolchain(), Path("/nowhere")) == ()


@pytest.mark.parametrize("define, is_read", [("T=float", True), ("TORCH_EXTENSION_NAME=x", True), ("NDEBUG", False),
    ("CUB_STDERR=1", False), ("CCCL_DISABLE_BF16_SUPPORT", False)])  # fmt: skip
def test_macros_from_outside_keep_the_headers_only_where_these_ask_for_them(define, is_read):
    text = "#include <cub/block/block_reduce.cuh>\n"
    assert bool(headers_in_front(text, Options(None, text, None, defines=(define,)), find_toolchain())) == is_read
