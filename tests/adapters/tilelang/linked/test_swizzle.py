"""Our block swizzles give every block the place that TileLang's own give it: both compiled for this machine."""

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

import tle_raw
from tle_raw.linker.tools.wheels import package_folder

pytest.importorskip("ziglang")
pytestmark = pytest.mark.one_triton

# Both headers read CUDA's names; here they are plain variables.
CODE = """
#define TL_DEVICE static inline
#define __attribute__(x)
struct uint3 {{ unsigned x, y, z; }};
struct dim3 {{
  unsigned x, y, z;
  dim3(unsigned x, unsigned y, unsigned z) : x(x), y(y), z(z) {{}}
}};
static uint3 blockIdx;
static dim3 gridDim(1, 1, 1);
{theirs}
{ours}
template <unsigned Panel> static int differences(unsigned width, unsigned height) {{
  gridDim = dim3(width, height, 1);
  int found = 0;
  for (unsigned y = 0; y < height; y++)
    for (unsigned x = 0; x < width; x++) {{
      blockIdx = {{x, y, 7}};
      dim3 a = tl::rasterization2DRow<Panel>(), b = tle::tilelang::row_panels<Panel>(blockIdx, gridDim);
      dim3 c = tl::rasterization2DColumn<Panel>(), d = tle::tilelang::column_panels<Panel>(blockIdx, gridDim);
      found += a.x != b.x || a.y != b.y || a.z != b.z || c.x != d.x || c.y != d.y || c.z != d.z;
    }}
  return found;
}}
extern "C" int compare(unsigned panel, unsigned width, unsigned height) {{
  switch (panel) {{
    case 1: return differences<1>(width, height);
    case 3: return differences<3>(width, height);
    case 4: return differences<4>(width, height);
    case 10: return differences<10>(width, height);
  }}
  return -1;
}}
"""


@pytest.fixture(scope="module")
def compare(tmp_path_factory):
    folder = package_folder("tilelang")
    if folder is None:
        pytest.skip("needs TileLang's headers")
    theirs = (folder / "src/tl_templates/cuda/threadblock_swizzle.h").read_text().replace('#include "common.h"', "")
    ours = (Path(tle_raw.__file__).parent / "include/tle_raw/tilelang.h").read_text()
    library = tmp_path_factory.mktemp("swizzle") / "swizzle.so"
    source = library.with_suffix(".cpp")
    source.write_text(CODE.format(theirs=theirs.replace("#pragma once", ""), ours=ours))
    command = [
        sys.executable,
        "-m",
        "ziglang",
        "cc",
        "-x",
        "c++",
        "-std=c++20",
        "-O1",
        "-w",
        "-fPIC",
        "-shared",
        "-nostdlib",
    ]
    built = subprocess.run([*command, str(source), "-o", str(library)], capture_output=True, text=True, timeout=120)
    assert built.returncode == 0, built.stderr
    return ctypes.CDLL(str(library)).compare


@pytest.mark.parametrize("panel", [1, 3, 4, 10])
@pytest.mark.parametrize("grid", [(4, 4), (5, 7), (8, 3), (1, 9), (33, 21)])
def test_every_block_goes_where_tilelang_sends_it(compare, grid, panel):
    assert compare(panel, *grid) == 0
