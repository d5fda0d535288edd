"""The type of a region's buffer is read from the line that loads it, whatever attributes the line has."""

from __future__ import annotations

import pytest

from tle_raw.flir.nvidia.buffers_in_place import _types

pytestmark = pytest.mark.one_triton

BUFFER, TENSOR = "!ttg.memdesc<128x64xf16, #shared, #smem, mutable>", "tensor<128x64xf16, #blocked2>"


@pytest.mark.parametrize("attributes", ["", "{tle.load = 121 : i32} ", '{tle.name = "a : b"} '])
@pytest.mark.parametrize("location", ["", " loc(#loc62)"])
def test_attributes_have_types_of_their_own(attributes, location):
    assert _types(f"%23 = ttg.local_load %a {attributes}: {BUFFER} -> {TENSOR}{location}") == (BUFFER, TENSOR)
    assert _types(f"ttg.local_store %v, %a {attributes}: {TENSOR} -> {BUFFER}{location}") == (TENSOR, BUFFER)
