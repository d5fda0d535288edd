"""tle_raw/tile.h is plain C++17 on the host and needs no other header on the device."""

import shutil
import subprocess

import pytest

from tle_raw.adapters.cpp.toolchain import INCLUDE, find_toolchain
from tle_raw.linker.tools.clang import clang_commands, is_zig

HOST = r"""
#include <tle_raw/tile.h>

struct four { float a, b, c, d; };
static bool takes_pointer(const float* p) { return p != nullptr; }
static float first(tle::tile<const float, 2, 3, 4> t) { return t(0, 0, 0); }

using Tile = tle::tile<float, 2, 3, 4>;
static_assert(Tile::size() == 24 && Tile::rank() == 3);
static_assert(Tile::dim<0>() == 2 && Tile::dim<2>() == 4 && Tile::dim(1) == 3);
static_assert(Tile::stride<0>() == 12 && Tile::stride<1>() == 4 && Tile::stride<2>() == 1);
static_assert(Tile::stride(0) == 12 && Tile::stride(2) == 1);
static_assert(Tile::offset(1, 2, 3) == 23);
static_assert(sizeof(Tile) == sizeof(float*));

#define CHECK(condition) if (!(condition)) return __LINE__

int main() {
  alignas(16) float memory[24];
  Tile t(memory);
  int count = 0;
  for (int i : t.indices()) {
    t[i] = float(i);
    ++count;
  }
  CHECK(count == 24);
  CHECK(t(1, 2, 3) == 23);
  long wide = 3;
  unsigned positive = 2;
  CHECK(t[wide] == 3 && t[positive] == 2 && *(t + 5) == 5);
  CHECK(takes_pointer(t) && first(t) == 0);
  t.for_each([](float& x) { x += 1; });
  for (float& x : t) x += 1;
  CHECK(t[0] == 2 && t.end() - t.begin() == 24);
  int starts = 0;
  for (int i : t.vectors<4>()) starts += i;
  CHECK(starts == 60);
  CHECK(t.as<four>().size() == 6 && t.as<four>()[1].a == 6);
  CHECK((t.reshape<6, 4>()(5, 3) == 25));
  CHECK(t.as_const()[1] == 3 && t.as_const().as<four>()[0].b == 3);
  CHECK(t.thread() == INDEX && t.threads() == COUNT);
  return 0;
}
"""


@pytest.fixture
def host_compiler():
    found = shutil.which("g++") or shutil.which("c++")
    if found:
        return [found]
    zig = next((command[0] for command in clang_commands() if is_zig(command)), "")
    if not zig:
        pytest.skip("neither g++ nor ziglang is installed")
    return [zig, "c++"]


STRICT = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", str(INCLUDE)]


def test_the_header_works_on_the_host(host_compiler, tmp_path):
    (tmp_path / "a.cpp").write_text(HOST)
    command = [*host_compiler, *STRICT, "-DINDEX=0", "-DCOUNT=1", "a.cpp", "-o", "a"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "a"]).returncode == 0


def test_a_host_may_give_the_thread_index(host_compiler, tmp_path):
    text = """
    static thread_local int me = 1;
    #define TLE_RAW_THREAD_INDEX me
    #define TLE_RAW_THREAD_COUNT 4
    #include <tle_raw/tile.h>
    int main() {
      int memory[8] = {}, sum = 0;
      for (int i : tle::tile<int, 2, 4>(memory).indices()) sum += i;
      return sum == 1 + 5 ? 0 : 1;
    }
    """
    (tmp_path / "a.cpp").write_text(text)
    subprocess.run([*host_compiler, *STRICT, "a.cpp", "-o", "a"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "a"]).returncode == 0


@pytest.mark.parametrize("body", ["t(1)", "t.dim<2>()", "t.as<wide>()", "t.reshape<3>()", "t.vectors<3>()"])
def test_misuse_does_not_compile(host_compiler, tmp_path, body):
    text = (
        "#include <tle_raw/tile.h>\nstruct wide { char c[3]; };\nvoid f(tle::tile<float, 2, 4> t) { (void)"
        + body
        + "; }"
    )
    (tmp_path / "a.cpp").write_text(text)
    run = subprocess.run([*host_compiler, *STRICT, "-c", "a.cpp"], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode != 0 and "static assertion failed" in run.stderr


def test_the_header_needs_no_cuda_header(tmp_path):
    toolchain = find_toolchain()
    text = """#include <tle_raw/tile.h>
    extern "C" __attribute__((device)) void f(float* p) {
      tle::tile<float, 4, 4> t(p);
      for (int i : t.indices()) t[i] = 1;
    }"""
    command = [*toolchain.command, "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_90",
               "-nocudainc", "-nocudalib",
               "-nostdinc", "-std=c++17", "-O3", "-S", "-emit-llvm", "-I", str(INCLUDE), "-", "-o", "-"]  # fmt: skip
    run = subprocess.run(command, input=text, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "sreg.ntid.y" in run.stdout  # a block of unknown shape


def test_nvcc_takes_the_header(tmp_path):
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is not installed")
    (tmp_path / "a.cu").write_text(
        "#include <tle_raw/tile.h>\n__global__ void k(float* p) { tle::tile<float, 4, 4> t(p);\n"
        "  for (int i : t.indices()) t[i] += t(1, 2); t.for_each([](float& x) { x += 1; }); }\n"
    )
    run = subprocess.run([nvcc, "-std=c++17", "-ptx", "-I", str(INCLUDE), "a.cu"], cwd=tmp_path, capture_output=True)
    assert run.returncode == 0, run.stderr.decode()
