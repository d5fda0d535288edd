"""What the rules say about lanes holds for every value that fits what was known before."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tle_raw.flir.cpu.vectorise import lanes as rules
from tle_raw.flir.cpu.vectorise.lanes import LaneFacts
from tle_raw.flir.cpu.vectorise.memory import runs_of
from tle_raw.flir.cpu.vectorise.tiles import across_rows, along, block, split

pytestmark = pytest.mark.one_triton

COUNT = 8


@st.composite
def known_and_actual(draw, lowest=-200):
    """Lanes as they are known, and one value of each that they can have."""
    steps = draw(
        st.sampled_from([(0,) * COUNT, tuple(range(COUNT)), tuple(i // 4 for i in range(COUNT))])
        | st.tuples(*[st.just(0), *[st.integers(-20, 20)] * (COUNT - 1)])
    )
    multiple = draw(st.sampled_from([1, 2, 3, 4, 6, 8, 16, 64]))
    first = multiple * draw(st.integers(-20, 20))
    actual = [first + step for step in steps]
    low, high = min(actual) - draw(st.integers(0, 9)), max(actual) + draw(st.integers(0, 9))
    if lowest is not None and low < lowest:
        shift = -(-(lowest - low) // multiple) * multiple
        actual, low, high = [v + shift for v in actual], low + shift, high + shift
    shown = draw(st.booleans())
    return LaneFacts(steps if shown else None, multiple, low, high), actual


def assert_holds(known, actual):
    if known.steps is not None:
        assert [v - actual[0] for v in actual] == list(known.steps)
    assert actual[0] == 0 if known.multiple == 0 else actual[0] % known.multiple == 0
    if known.low is not None:
        assert known.low <= min(actual)
        assert max(actual) <= known.high


@given(known_and_actual(), known_and_actual(), st.sampled_from([1, -1]))
def test_sums(a, b, sign):
    assert_holds(rules.add(a[0], b[0], sign), [x + sign * y for x, y in zip(a[1], b[1])])


@given(known_and_actual(), st.integers(-9, 9))
def test_products_with_a_constant(a, factor):
    product = rules.multiply(a[0], rules.constant(factor, COUNT))
    assert_holds(product, [x * factor for x in a[1]])


@given(known_and_actual(), known_and_actual())
def test_products(a, b):
    assert_holds(rules.multiply(a[0], b[0]), [x * y for x, y in zip(a[1], b[1])])


@given(known_and_actual(lowest=0), st.integers(1, 70))
def test_quotients_and_remainders(a, divisor):
    assert_holds(rules.quotient(a[0], divisor), [x // divisor for x in a[1]])
    assert_holds(rules.remainder(a[0], divisor), [x % divisor for x in a[1]])


@given(known_and_actual(lowest=None), st.sampled_from([2, 4, 8, 64]))
def test_low_bits_of_negative_numbers(a, divisor):
    assert_holds(rules.remainder(a[0], divisor), [x % divisor for x in a[1]])


@given(known_and_actual(lowest=None))
def test_fewer_bits(a):
    wrapped = [(x + 128) % 256 - 128 for x in a[1]]
    known = rules.in_bits(a[0], 8)
    if known.steps is not None:
        assert [(v - wrapped[0] - s) % 256 for v, s in zip(wrapped, known.steps)] == [0] * COUNT
    assert_holds(LaneFacts(None, known.multiple, known.low, known.high), wrapped)


@given(known_and_actual(lowest=None))
def test_bytes_are_extended_only_where_they_cannot_wrap_around(a):
    known = rules.in_bits(a[0], 8)
    wrapped = [(x + 128) % 256 - 128 for x in a[1]]
    assert_holds(rules.signed_extension(known, 8), wrapped)
    assert_holds(rules.unsigned_extension(known), [x % 256 for x in wrapped])


@given(st.lists(st.integers(1, 130), min_size=1, max_size=3), st.sampled_from([1, 4, 16, 64]), st.data())
def test_the_tiles_of_a_shape_cover_each_iteration_once(shape, most, data):
    lanes = data.draw(st.sampled_from([across_rows(shape, most), *(along(shape, d, most) for d in range(len(shape)))]))
    seen = []
    for tile in split(shape, lanes, unroll=2):
        for dim, chunk in enumerate(tile.dims):
            assert 0 <= chunk.start < chunk.stop <= shape[dim]
        seen.append([(chunk.start, chunk.stop) for chunk in tile.dims])
    covered = sum(_volume(part) for part in seen)
    assert covered == _volume([(0, size) for size in shape])
    assert len({tuple(part) for part in seen}) == len(seen)


def _volume(part):
    result = 1
    for start, stop in part:
        result *= stop - start
    return result


def test_runs_are_contiguous_parts_of_one_length():
    assert runs_of([0, 1, 2, 3, 64, 65, 66, 67]) == [0, 64]
    assert runs_of([64, 0, 65, 1, 66, 2, 67, 3]) == [0, 64]
    assert runs_of([0, 2, 4, 6, 8, 10, 12, 14]) is None
    assert runs_of([0, 0, 1, 1, 2, 2, 3, 3]) is None


def test_a_block_is_square_and_divides_the_shape():
    assert block((64, 64), 0, 1, 64) == (8, 8)
    assert block((64, 32), 0, 1, 32) == (8, 4)
    assert block((63, 64), 0, 1, 64) is None
