"""The launches of other packages' kernels: each can be made, and what two sides wrote is compared as it is said."""

import struct
import sys
from pathlib import Path

import numpy as np
import pytest

TOOLS = Path(__file__).parents[3] / "tools"
pytestmark = [
    pytest.mark.one_triton,
    pytest.mark.skipif(not TOOLS.is_dir(), reason="the tools are not beside the tests"),
]


@pytest.fixture(autouse=True)
def tools(monkeypatch):
    benchmarks = TOOLS.parent / "samples/benchmarks"  # they compare and launch as these do
    monkeypatch.setattr(sys, "path", [str(TOOLS), str(benchmarks), *sys.path])


def test_every_launch_has_a_kernel_and_its_arguments_are_the_same_each_time():
    from cuda_sweep.kernels import listed
    from cuda_sweep.launches import Buffer, launches

    kernels = list(listed())
    for launch in launches():
        assert [k for k in kernels if launch.fits(k.package, k.symbol)], launch.symbol
        first, again = launch.make(True), launch.make(True)
        for one, other in zip(first, again, strict=True):
            if isinstance(one, Buffer):
                assert np.array_equal(one.values.view(np.uint8), other.values.view(np.uint8)), launch.symbol
        assert all(extent > 0 for small in (True, False) for extent in launch.grid_of(small)), launch.symbol
        assert 0 <= launch.shared_bytes < 228 * 1024


@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 64, 4097, 2**31])
def test_fast_division_is_division(divisor):
    from cuda_sweep.launches import divider

    multiplier, shift, kept = divider(divisor)
    for number in (0, 1, divisor - 1, divisor, 12345678, 2**31 - 1):
        assert ((number * multiplier >> 32) + number) >> shift == number // kept


def test_a_struct_is_numbers_for_us_and_bytes_for_cuda():
    from cuda_sweep.driver import packed
    from cuda_sweep.launches import Buffer

    array = Buffer("f32", np.zeros(4, np.float32))
    leaves = [["Base.n", 0, "i32"], ["scale", 4, "f32"], ["to", 8, "*f32"], ["flag", 16, "i1"]]
    parameters = [
        {"name": "p", "size": 24, "leaves": leaves},
        {"name": "x", "kind": "pointer", "dtype": "f32"},
        {"name": "n", "kind": "scalar", "dtype": "i64"},
    ]
    ours, theirs = packed(parameters, [{"n": -7, "scale": 0.5, "to": array}, None, 9], lambda buffer: 4096)
    whole = struct.pack("<ifQB7x", -7, 0.5, 4096, 0)
    assert theirs == [whole, bytes(8), struct.pack("<q", 9)]
    assert ours == [whole[:4], whole[4:8], whole[8:16], b"\0", bytes(8), struct.pack("<q", 9)]
    with pytest.raises(ValueError, match="no m among n, scale, to, flag"):
        packed(parameters, [{"m": 1}, None, 9], lambda buffer: 0)


def test_an_array_in_a_struct_is_given_by_its_first_items():
    from cuda_sweep.driver import flat

    leaves = [["Base.peers.0", 0], ["Base.peers.1", 8], ["Base.peers.2", 16], ["rank", 24], ["flags.0", 28]]
    assert flat({"peers": [7, 9], "rank": 3}, leaves) == [7, 9, 0, 3, 0]


def test_numbers_elsewhere_are_compared_by_digest_and_samples():
    from cuda_sweep.launches import Maker
    from cuda_sweep.numbers import agree, kept

    maker = Maker(1)
    for dtype, near, far in (("f32", 1e-6, 1e-3), ("bf16", 0, 1.0)):
        buffer = maker.normal(dtype, 1000)
        values = buffer.floats(buffer.values)

        def output(error, dtype=dtype, values=values):
            other = maker.array(dtype, values + error)
            return [{"place": 0, **kept(other, other.values)}]

        assert agree(output(0), output(0)) == (True, "equal")
        assert agree(output(0), output(near))[0]
        assert not agree(output(0), output(far))[0]
    assert not agree(output(0), [])[0]


def test_a_reference_fits_its_launch_and_tells_wrong_numbers(tmp_path):
    from cuda_sweep.kernels import listed
    from cuda_sweep.launches import _cast, launches
    from cuda_sweep.on_cpu import arrays_of
    from cuda_sweep.references import Given, array_of, judge, reference_of

    file = tmp_path / "kernel.cu"  # beside it a table of the package, of which only the form matters
    table = ", ".join(map(hex, np.random.default_rng(3).integers(0, 2**63, 256)))
    (tmp_path / "ggml-common.h").write_text(f"iq2xxs_grid[256] = {{{table}}};")
    known, checked = list(launches()), 0
    for kernel in listed():
        launch = next((launch for launch in known if launch.fits(kernel.package, kernel.symbol)), None)
        reference = launch and reference_of(kernel)
        if not launch or not reference or launch.writes:
            continue
        values = launch.make(True)
        arrays, written = arrays_of(values), {}
        with np.errstate(all="ignore"):
            wanted = reference(Given(values, launch.names(True), file))
        for key, expected in wanted.items():
            if expected is None:  # what the kernel uses as it likes
                continue
            buffer = array_of(values, key)
            place = next(i for i, array in enumerate(arrays) if array is buffer)
            numbers = np.asarray(expected, None if buffer.dtype[0] in "fb" else np.int64).reshape(-1)
            written[place] = _cast(numbers, buffer.dtype)
        good, words = judge(reference, launch, written, file=file)
        assert good, f"{kernel.symbol}: {words}"
        first = min(written)
        right = written[first]
        wrong = right + (1 + np.abs(right[np.isfinite(right)]).max() if right.dtype.kind == "f" else 64)
        assert not judge(reference, launch, {**written, first: wrong}, file=file)[0], kernel.symbol
        checked += 1
    assert checked > 100
