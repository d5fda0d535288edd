"""``tle_raw.shared_variable``: set once, a variable of a library has the value in every kernel, loaded or not."""

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tle_raw import Element
from tle_raw.errors import LaunchError

pytestmark = pytest.mark.every_triton(2)

LIBRARY = """
@"scale" = addrspace(4) externally_initialized global float 2.0, align 4
define float @scaled(float %x) {
  %s = load float, ptr addrspace(4) @scale
  %y = fmul float %x, %s
  ret float %y
}
"""
SOURCE = 'extern "C" __device__ float scaled(float);\n__device__ float {name}(float x) {{ return scaled(x) + {more}; }}'


@pytest.fixture
def fragments(tmp_path):
    library = tmp_path / "library.ll"
    library.write_text(LIBRARY)

    def first_of(x: Element["f32"]) -> Element["f32"]: ...
    def second_of(x: Element["f32"]) -> Element["f32"]: ...

    return [
        tle_raw.fragment(
            SOURCE.format(name=stub.__name__, more=more), dialect="cuda", signature=stub, libraries=library
        )
        for stub, more in ((first_of, 1), (second_of, 5))
    ]


def test_set_once_for_all_kernels(fragments):
    first_of, second_of = fragments
    scale = tle_raw.shared_variable("scale", fragments)

    @triton.jit
    def first(x, N: tl.constexpr):
        offsets = tl.arange(0, N)
        tl.store(x + offsets, first_of(tl.load(x + offsets)))

    @triton.jit
    def both(x, N: tl.constexpr):
        offsets = tl.arange(0, N)
        tl.store(x + offsets, first_of(second_of(tl.load(x + offsets))))

    def launched(kernel):
        x = np.arange(32, dtype="f4")
        kernel[(1,)](x, 32)
        return x

    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        x = np.arange(32)
        np.testing.assert_array_equal(launched(first), 2 * x + 1)
        assert len(scale) == 1
        with pytest.raises(LaunchError, match="does not fill"):
            scale.set(np.zeros(3, "f4"))
        scale.set(np.float32(3))
        np.testing.assert_array_equal(launched(first), 3 * x + 1)  # a kernel that was loaded
        np.testing.assert_array_equal(launched(both), 3 * (3 * x + 5) + 1)  # one that is loaded now
        assert len(scale) == 3


@pytest.mark.one_triton
def test_only_of_fragments():
    with pytest.raises(LaunchError, match="one of fragments"):
        tle_raw.shared_variable("scale", ["rows"])


def test_asked_for_again_it_is_the_same(fragments):
    once = tle_raw.shared_variable("bias", fragments)
    assert tle_raw.shared_variable("bias", fragments) is once
    assert tle_raw.shared_variable("bias", fragments[0]) is not once
