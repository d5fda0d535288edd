"""What units begin with is read once: the code is the same, and what a user puts in front of it is seen."""

import itertools
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import tle_raw
from tle_raw import Element, InOut, Tile
from tle_raw.adapters.cpp import precompiled_headers
from tle_raw.adapters.cpp.dead_branches import changed_macros, without_dead_branches
from tle_raw.adapters.cpp.options import Options
from tle_raw.adapters.cpp.preamble import headers_to_read_ahead
from tle_raw.adapters.cpp.toolchain import find_toolchain
from tle_raw.adapters.cuda.adapter import CudaAdapter
from tle_raw.errors import CompilationFailed
from tle_raw.store import HEADERS, Store
from tle_raw.target import parse_target

pytestmark = pytest.mark.one_triton

PLAIN = "__device__ float f(float x) { return fmaxf(x, 0.f) * __expf(x); }"
ASKED = "CUDA headers that were asked for once"
_NUMBERS = itertools.count()
INLINE_ASSEMBLY = """
#include <cuda_fp16.h>
__device__ int counters[4] = {1, 2, 3, 4};
__device__ float f(float x) {
    float y;
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    printf("%f", y);
    atomicAdd(&counters[1], __half2int_rn(__float2half(y)));
    return y + sinf(x);
}
"""


@pytest.fixture
def cache(tmp_path):
    with tle_raw.knobs.scope() as knobs:
        knobs.cache.dir = str(tmp_path / "cache")
        yield Store(tmp_path / "cache", HEADERS)
    precompiled_headers._USELESS.clear()


@pytest.fixture(scope="module")
def with_headers(tmp_path_factory):
    """A cache that holds the headers of plain code for sm_90, which are made once, and a copy of it."""
    folder, kept = tmp_path_factory.mktemp("cache"), tmp_path_factory.mktemp("kept")
    with tle_raw.knobs.scope() as knobs:
        knobs.cache.dir = str(folder)
        fragment(PLAIN).compile("cuda:90")
    shutil.copytree(folder, kept, symlinks=True, dirs_exist_ok=True)
    return folder, kept


@pytest.fixture
def filled(with_headers):
    """This cache as it was, and the headers' entry. It stays in its folder: keys hold the paths of headers."""
    folder, kept = with_headers
    shutil.rmtree(folder)
    shutil.copytree(kept, folder, symlinks=True)
    with tle_raw.knobs.scope() as knobs:
        knobs.cache.dir = str(folder)
        cache = Store(folder, HEADERS)
        (entry,) = cache.entries()
        yield cache, entry
    precompiled_headers._USELESS.clear()


@pytest.fixture
def runs(monkeypatch):
    """The commands that were run for units: whether with precompiled headers."""
    made = []
    run = precompiled_headers.run_compiler

    def compiler(command, *rest):
        made.append("-include-pch" in command)
        return run(command, *rest)

    monkeypatch.setattr(precompiled_headers, "run_compiler", compiler)
    return made


def fragment(source, **options):
    """One that no test compiled before: this process keeps what it has compiled."""

    def f(x: Element["f32"]) -> Element["f32"]: ...

    return tle_raw.dialect("cuda", source=f"{source}\n// {next(_NUMBERS)}\n", **options)(f)


def output(of):
    """What clang makes of the fragment now, whatever is in the cache."""
    adapter, source = CudaAdapter(), of._adapter.read(of.declared[1])
    compiled = of.compile("cuda:90")
    return adapter.compile(source, compiled.bound, parse_target("cuda:90"))


def without_positions(text):
    """An inline assembly's place in all bytes that were read; LLVM keeps it for errors of the assembler."""
    numbers = re.findall(r"!srcloc !(\d+)", text)
    return re.sub(rf"^!({'|'.join(numbers)}) = .*$", r"!\1", text, flags=re.MULTILINE) if numbers else text


@pytest.mark.parametrize(
    "options",
    [
        {},
        {
            "flags": ("--use_fast_math", "-std=c++20"),
            "defines": {"_LIMIT": "4", "FACTOR": "2"},
            "block": (16, 8),
        },
    ],
    ids=["plain", "flags, defines and a block"],
)
def test_the_code_is_the_same(cache, runs, options):
    of = fragment(INLINE_ASSEMBLY, **options)
    fast = output(of)
    assert runs and all(runs), "each compilation took precompiled headers"
    with tle_raw.knobs.scope() as knobs:
        knobs.cache.enabled = False
        plain = output(of)
    assert not runs[-1]
    assert without_positions(fast.text) == without_positions(plain.text)
    assert (fast.entry, fast.files, fast.command) == (plain.entry, plain.files, plain.command)


def test_one_entry_serves_fragments_and_processes(cache, runs):
    fragment(PLAIN).compile("cuda:90")
    (entry,) = cache.entries()
    assert entry.meta["name"] == "precompiled CUDA headers" and entry.size > 1_000_000
    stamp = entry.path.stat().st_mtime_ns
    fragment(INLINE_ASSEMBLY).compile("cuda:90")
    assert [e.path for e in cache.entries()] == [entry.path] and entry.path.stat().st_mtime_ns == stamp
    fragment(PLAIN).compile("cuda:80")
    assert len(cache.entries()) == 2, "an architecture has its own macros"


def test_nothing_is_kept_without_a_cache(cache, runs):
    with tle_raw.knobs.scope() as knobs:
        knobs.cache.enabled = False
        fragment(PLAIN).compile("cuda:90")
    assert runs == [False] and not cache.entries()


@pytest.mark.parametrize("name", ["math.h", "cuda_runtime.h"])
def test_a_header_of_the_users_own_with_a_toolkits_name_is_read(cache, runs, tmp_path, name):
    (tmp_path / "own" / name).parent.mkdir(parents=True)
    (tmp_path / "own" / name).write_text(f"#pragma once\n#define OWN 1\n#include_next <{name}>\n")
    source = f"#include <{name}>\n__device__ float f(float x) {{ return x + OWN; }}"
    fragment(source, include_dirs=[str(tmp_path / "own")]).compile("cuda:90")
    assert runs == [False]
    with pytest.raises(CompilationFailed, match="OWN"):
        fragment(source).compile("cuda:90")


def test_a_damaged_entry_is_made_again(filled, runs):
    cache, entry = filled
    whole = entry.path.read_bytes()
    entry.path.write_bytes(whole[:5000] + bytes(100) + whole[5100:])
    of = fragment(INLINE_ASSEMBLY)
    fast = without_positions(output(of).text)
    (again,) = cache.entries()
    assert again.path.read_bytes()[5000:5100] != bytes(100) and all(runs)
    with tle_raw.knobs.scope() as knobs:
        knobs.cache.enabled = False
        assert without_positions(output(of).text) == fast


def test_headers_that_the_compiler_refuses_are_left_out_and_made_again_by_the_next_process(filled, runs):
    cache, entry = filled
    fragment(PLAIN).compile("cuda:90")
    cache.save(entry.key, b"made by another clang", entry.meta)
    of = fragment(INLINE_ASSEMBLY)
    of.compile("cuda:90")
    assert runs[:3] == [True, True, False] and not any(runs[3:]) and not cache.entries()
    fragment(PLAIN).compile("cuda:90")
    assert runs[-1] is False, "not tried again in this process"
    precompiled_headers._USELESS.clear()
    fragment(PLAIN).compile("cuda:90")
    assert runs[-1] is True and len(cache.entries()) == 1


def test_errors_are_those_of_the_code(filled, runs):
    cache, _ = filled
    of = fragment("\n\n__device__ float f(float x) { return y; }")
    with pytest.raises(CompilationFailed) as refusal:
        of.compile("cuda:90")
    assert runs == [True]
    assert "-include-pch" not in str(refusal.value) and "undeclared identifier 'y'" in str(refusal.value)
    assert len(cache.entries()) == 1, "the headers are not to blame"


@pytest.mark.parametrize("log, is_of_the_code", [
    ("k.cu:3:40: error: use of undeclared identifier 'y'\n", True),
    ("/usr/include/cuda_fp16.h:9:1: note: here\n/own/mine.h:1:1: error: no\nk.cu:3:40: error: no\n", True),
    ("k.cu:3:40: error: no\n/usr/local/cuda/include/crt/math_functions.h:7:1: error: static assertion failed\n", False),
    ("k.cu:1:1: fatal error: file 'a.h' has been modified since the precompiled header was built\n", False),
    ("error: malformed or corrupted precompiled file\n", False),
])  # fmt: skip
def test_errors_elsewhere_than_in_the_code_are_told_without_precompiled_headers(log, is_of_the_code):
    spelled = ["cuda_fp16.h", "include/cuda_fp16.h", "math_functions.h", "crt/math_functions.h"]
    assert precompiled_headers._is_of_the_code(log, spelled) is is_of_the_code


def test_old_headers_go_when_there_is_no_room(filled, runs, monkeypatch):
    cache, first = filled
    monkeypatch.setattr(precompiled_headers, "_ROOM", first.size + 1000)
    fragment(PLAIN).compile("cuda:80")
    (second,) = cache.entries()
    assert second.key != first.key and all(runs)


def test_a_region_on_the_cpu_takes_them_too(cache, runs):
    @tle_raw.dialect("cuda", source="__device__ void f(tle::tile<float, 8> t) { t[threadIdx.x] += 1; }")
    def f(t: InOut[Tile["f32", 8]]): ...

    f.compile("cpu")
    assert runs == [True]


AHEAD = """
struct Own { float value; };
#include <cuda/std/array>
__device__ float f(float x) { cuda::std::array<Own, 2> a{Own{x}, Own{2 * x}}; return a[1].value; }
"""


def test_large_headers_are_read_ahead_of_their_place_and_the_code_is_the_same(cache, runs):
    of = fragment(AHEAD)
    fast = output(of)
    assert runs[-1] and any("array" in name for entry in cache.entries() for name in entry.meta["spelled"])
    with tle_raw.knobs.scope() as knobs:
        knobs.cache.enabled = False
        assert without_positions(output(of).text) == without_positions(fast.text)


def test_headers_whose_names_are_in_the_way_stay_in_their_place(cache):
    text = "#if 0\n#include <cuda/std/array>\n#endif\nint cuda;\n" + PLAIN
    assert "@llvm" in output(fragment(text)).text


def test_a_cub_header_beside_all_of_cub_is_not_read_ahead_again():
    options = Options(None, "text", None)
    asked = ("cub/cub.cuh", "cub/util_type.cuh", "cuda/std/array", "cub/nobody_has_this.cuh", "vector")
    found = headers_to_read_ahead(asked, (), options, find_toolchain(), Path("/nowhere"))
    assert found == ("cub/cub.cuh", "cuda/std/array")
    for define in ("#define NDEBUG", "  # undef CCCL_DISABLE_BF16_SUPPORT", "#define _CUB_X 1"):
        assert headers_to_read_ahead(asked, (define,), options, find_toolchain(), Path("/nowhere")) == ()
    assert headers_to_read_ahead(asked, (), replace(options, block=(16, 16)), find_toolchain(), Path("/nowhere")) == ()


def test_what_a_branch_that_is_not_read_includes_is_not_read_ahead(cache):
    dead = (
        "#if 0\n#include <cub/block/block_scan.cuh>\n#elif defined(__CUDACC_RTC__)\n#include <cuda/std/tuple>\n#endif\n"
    )
    output(fragment(dead + AHEAD))
    spelled = [name for entry in cache.entries() for name in entry.meta["spelled"]]
    assert any("array" in name for name in spelled) and not any("block_scan" in name for name in spelled)


@pytest.mark.parametrize(
    "text, read",
    [
        ("#if 0\na\n#else\nb\n#endif\nc", "bc"),
        ("#if 1\na\n#elif X\nb\n#else\nc\n#endif", "a"),
        ("#ifdef X\na\n#else\nb\n#endif", "ab"),
        ("#ifdef __HIPCC__  // AMD\na\n#else\nb\n#endif", "b"),
        ("# ifndef __CUDACC__\na\n#if X\nb\n#endif\n#endif\nc", "c"),
        ("#if defined(USE_ROCM) || defined __HIP_PLATFORM_AMD__\na\n#elif X\nb\n#else\nc\n#endif", "bc"),
        ("#if !defined(_MSC_VER) && X\na\n#endif\n#if _WIN32 && X\nb\n#endif", "a"),
        ("#if !(0 || X)\na\n#endif\n#if 0 \\\n || X\nb\n#endif\n#if _MSC_VER > 1\nc\n#endif", "abc"),
        ("#if OWN\na\n#elif defined(MINE)\nb\n#endif\n#endif\nc", "abc"),
    ],
)
def test_branches_that_are_surely_not_read_are_told(text, read):
    lines = without_dead_branches(text).split("\n")
    assert "".join(line for line in lines if line in ("a", "b", "c")) == read and len(lines) == text.count("\n") + 1


def test_a_macro_that_the_program_defines_is_known_no_more():
    text = "#ifdef USE_ROCM\na\n#endif"
    assert "a" in without_dead_branches(text, changed_macros(["// \n  # define USE_ROCM 1"]))


def test_headers_of_few_programs_are_precompiled_when_they_are_asked_for_again(cache, runs):
    fragment(AHEAD).compile("cuda:90")
    assert runs == [False] and [entry.meta["name"] for entry in cache.entries()] == [ASKED]
    fragment(AHEAD).compile("cuda:90")
    fragment(AHEAD).compile("cuda:90")
    assert runs == [False, True, True]
    assert [entry.meta["name"] for entry in cache.entries()] == ["precompiled CUDA headers"]


def test_where_a_prototype_is_asked_for_the_codes_headers_are_precompiled_at_once(cache, runs):
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cuda:90"
        kernel = f"{AHEAD}__global__ void k(float* x) {{ *x = f(*x); }}\n// {next(_NUMBERS)}\n"
        tle_raw.fragment(kernel, dialect="cuda", symbol="k").as_kernel(block=32).compile("cuda:90")
    assert runs and all(runs)
