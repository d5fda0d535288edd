"""Objects of textures and surfaces are 64-bit numbers; legacy references are refused with a way out."""

import re

import numpy as np
import pytest

import tle_raw
from tests.support import cause_of
from tle_raw import Scalar
from tle_raw.adapters.common.launch_arguments import check_arguments
from tle_raw.adapters.cpp.lean_headers import surface_defines
from tle_raw.errors import UnsupportedFeatureError

pytestmark = pytest.mark.every_triton(3)

FETCHES = """
struct View { cudaTextureObject_t image; int width; };
__global__ void resized(float* out, cudaTextureObject_t line, View view, cudaTextureObject_t volume, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 voxel = tex3D<float4>(volume, i, 1.f, 2.f);
  uchar4 pixel = tex2D<uchar4>(view.image, i % view.width + .5f, i / view.width + .5f);
  out[i] = tex1Dfetch<float>(line, i) + voxel.x + voxel.w + pixel.y + tex2DLayered<float>(view.image, i, 1.f, 2);
}
"""
SURFACES = """
__global__ void summed(float* out, cudaSurfaceObject_t s, int n) {
  float before = surf2Dread<float>(s, n * 4, 3);
  surf2Dwrite(before + 1, s, n * 4, 3, cudaBoundaryModeZero);
  out[threadIdx.x] = before + surf2Dread<float>(s, n * 4, 3);
}
__device__ float twice(cudaSurfaceObject_t s, int n) {
  float before = surf2Dread<float>(s, n * 4, 3);
  surf2Dwrite(before + 1, s, n * 4, 3);
  return before + surf2Dread<float>(s, n * 4, 3);
}
"""


def _ptx(source: str, symbol: str) -> str:
    compiled = tle_raw.fragment(source, dialect="cuda", symbol=symbol).as_kernel(block=128).compile("cuda:90")
    assert compiled.asm["cubin"]  # ptxas takes it
    return compiled.asm["ptx"]


def _fetched(ptx: str) -> list[str]:
    return re.findall(r"\b((?:tex|suld|sust)\.[\w.]+)", ptx)


def test_texture_objects_are_fetched_as_by_nvcc():
    ptx = _ptx(FETCHES, "resized")
    kinds = ["tex.1d.v4.f32.s32", "tex.2d.v4.u32.f32", "tex.3d.v4.f32.f32", "tex.a2d.v4.f32.f32"]
    assert sorted(_fetched(ptx)) == sorted(kinds)
    assert "call" not in re.findall(r"^\s*(call)\b", ptx, re.MULTILINE)


def test_their_parameters_are_numbers_of_64_bits():
    kernel = tle_raw.fragment(FETCHES, dialect="cuda", symbol="resized").as_kernel(block=128)
    types = {parameter.name: parameter.type for parameter in kernel.signature.parameters}
    assert types["line"] == types["view_image"] == types["volume"] == Scalar["u64"]


def test_surfaces_are_read_and_written_in_the_texts_order():
    assert [name[:4] for name in _fetched(_ptx(SURFACES, "summed"))] == ["suld", "sust", "suld"]


def test_so_they_are_in_device_functions():
    text = tle_raw.fragment(SURFACES, dialect="cuda", symbol="twice").compile("cuda:90").text
    body = text[text.index("define") :]
    assert re.findall(r'asm sideeffect "(\w+)', body)[:3] == ["suld", "sust", "suld"]


def test_only_programs_that_read_surfaces_keep_their_order():
    assert surface_defines(["surf3Dread<float>(s, 1, 2, 3)"]) and surface_defines(["surf##N##read(s)"])
    assert not surface_defines(["surf2Dwrite(1, s, 1, 2); int surface;"])


@pytest.mark.one_triton
@pytest.mark.parametrize("source, symbol, word", [(FETCHES, "resized", "textures"), (SURFACES, "summed", "surfaces")])
def test_the_cpu_has_none_and_says_so_at_the_line(tmp_path, source, symbol, word):
    file = tmp_path / "k.cu"
    file.write_text(source)
    kernel = tle_raw.fragment(file, dialect="cuda", symbol=symbol).as_kernel(block=128)
    with pytest.raises(Exception) as raised:
        kernel.compile("cpu")
    error = cause_of(raised.value)
    assert isinstance(error, UnsupportedFeatureError)
    assert f"needs {word}, which only a GPU has" in error.message
    assert error.context.source and any(name in error.context.source.text for name in ("tex", "surf"))


@pytest.mark.one_triton
@pytest.mark.parametrize("kind, object_type", [("texture", "cudaTextureObject_t"), ("surface", "cudaSurfaceObject_t")])
def test_references_are_refused_with_what_took_their_place(tmp_path, kind, object_type):
    file = tmp_path / "k.cu"
    file.write_text(f"\n{kind}<float, 2> of_image;\n__global__ void k(float* x) {{ x[0] = 1; }}")
    with pytest.raises(UnsupportedFeatureError, match=f"{kind} reference, which CUDA has had no more") as raised:
        tle_raw.fragment(file, dialect="cuda", symbol="k").as_kernel(block=32).compile("cuda:90")
    assert raised.value.context.source.line == 2
    assert object_type in raised.value.hint


class _Texture:
    """As CuPy's: the number is its ``ptr``."""

    ptr = 0x7F00_0000_1234


class _Handle:
    """As those of CUDA's own Python binding."""

    def __int__(self) -> int:
        return 9


@pytest.mark.one_triton
def test_a_launch_takes_the_objects_of_other_libraries():
    fragment = tle_raw.fragment(
        "__global__ void k(cudaTextureObject_t a, cudaSurfaceObject_t b, int n) {}", dialect="cuda", symbol="k"
    )
    kernel = fragment.as_kernel(block=32)
    passed = check_arguments(kernel.signature, [_Texture(), _Handle(), np.int32(3)], kernel._source)
    assert passed == [_Texture.ptr, 9, 3]
