"""Which tiles programs that stay take: on the CPU, what they compile to, and what is refused."""

import re
from pathlib import Path

import numpy as np
import pytest

import tle_raw
from tests.frontends.gpu import scheduler_kernels as kernels
from tests.support import cause_of, compile_kernel, ptx_calls

pytestmark = pytest.mark.every_triton(3)

TYPES = {"o_ptr": "*i32", "counter_ptr": "*i32", "total": "i32"}


def run(kernel, grid, *arguments, **constants):
    pytest.importorskip("torch_mlir")
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        kernel[(grid,)](*arguments, **constants)


@pytest.mark.parametrize("total", [0, 1, 4, 5, 23])
def test_a_static_order_goes_to_and_fro(total):
    o, programs = np.zeros(max(total, 1), np.int32), 5
    run(kernels.taken_by, programs, o, np.zeros(1, np.int32), total, KIND="static")
    expected = []
    for number in range(total):
        turn, place = divmod(number, programs)
        expected.append((programs - 1 - place if turn % 2 else place) * 1000 + turn + 1)
    assert list(o[:total]) == expected


@pytest.mark.parametrize("programs", [1, 3, 8])
@pytest.mark.parametrize("total", [0, 1, 4, 57])
def test_a_dynamic_order_gives_each_tile_once_and_leaves_its_counter(total, programs):
    o, counter = np.zeros(max(total, 1), np.int32), np.zeros(1, np.int32)
    for _ in range(3):
        o[:] = 0
        run(kernels.taken_by, programs, o, counter, total, KIND="dynamic")
        assert counter[0] == 0
        taken = [divmod(int(each), 1000) for each in o[:total]]
        turns = [sorted(turn for program, turn in taken if program == each) for each in range(programs)]
        assert all(own == list(range(1, len(own) + 1)) for own in turns), "a program's turns follow each other"
        assert all(program < programs for program, _ in taken)


@pytest.mark.parametrize("tiles", [(1, 1), (5, 3), (8, 4), (7, 9)])
@pytest.mark.parametrize("group", [1, 3, 8])
def test_groups_of_rows_are_walked_column_by_column(tiles, group):
    o = np.full(tiles, -1, np.int32)
    run(kernels.grouped, tiles[0] * tiles[1], o, *tiles, GROUP=group)
    number, expected = 0, np.empty(tiles, np.int32)
    for first in range(0, tiles[0], group):
        for column in range(tiles[1]):
            for row in range(first, min(first + group, tiles[0])):
                expected[row, column] = number
                number += 1
    assert np.array_equal(o, expected)


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_one_warp_fetches_and_tells_the_others(capability):
    kernel = compile_kernel(kernels.counted_twice, TYPES, {"KIND": "dynamic", "SLOTS": 3}, capability)
    ptx = kernel.asm["ptx"]
    assert not ptx_calls(kernel) and len(re.findall(r"\.entry\b", ptx)) == 1
    assert len(re.findall(r"atom\.global\.gpu\.relaxed\.add", ptx)) == 1, "one partition fetches"
    assert "fence.proxy" not in ptx, "threads alone touch the numbers"
    told = r"st\.shared(?:::cta)?\.b32.*\n(?:.*\n){0,8}?.*bar\.warp\.sync\s+-1;\n(?:.*\n){0,12}?.*mbarrier\.arrive"
    assert re.search(told, ptx), "the number is there before the arrival"


def test_a_static_order_is_a_formula():
    kernel = compile_kernel(kernels.counted_twice, TYPES, {"KIND": "static", "SLOTS": 3})
    assert "mbarrier" not in kernel.asm["ptx"] and len(re.findall(r"atom\.", kernel.asm["ptx"])) == 2


@pytest.mark.parametrize("total", [0, 1, 6])
def test_where_no_program_is_taken_over_each_has_its_own_tile(total):
    o = np.zeros(max(total, 1), np.int32)
    run(kernels.taken_by, max(total, 1), o, np.zeros(1, np.int32), total, KIND="try_cancel")
    assert list(o[:total]) == [number * 1000 + 1 for number in range(total)]


def test_on_sm_100_one_thread_asks_for_a_program_that_has_not_begun():
    kernel = compile_kernel(kernels.counted_twice, TYPES, {"KIND": "try_cancel", "SLOTS": 2}, 100)
    ptx = kernel.asm["ptx"]
    assert not ptx_calls(kernel) and kernel.asm["cubin"]
    asked = re.search(r"elect\.sync.*@p atom\.shared::cta\.cas.*@q mbarrier.*expect_tx.*, 16; @q clusterlaunch.*", ptx)
    assert ptx.count("clusterlaunchcontrol.try_cancel") == 1 and asked
    assert ptx.index("try_wait", asked.end()) < ptx.index("query_cancel.is_canceled", asked.end())
    older = compile_kernel(kernels.counted_twice, TYPES, {"KIND": "try_cancel", "SLOTS": 2}, 90).asm["ptx"]
    assert "clusterlaunchcontrol" not in older and "mbarrier" not in older


REFUSED = {
    "no kind": ("ArgumentTypeError", '"static", "dynamic" or "try_cancel"'),
    "no counter": ("ArgumentTypeError", "a pointer to an int32"),
    "a counter of floats": ("ArgumentTypeError", "a pointer to an int32"),
    "no scheduler": ("ArgumentTypeError", "tle.gpu.next_tile takes a scheduler"),
    "a turn of floats": ("ArgumentTypeError", "turn"),
    "a total of many": ("ArgumentTypeError", "total"),
    "no rows": ("ArgumentTypeError", "group_m"),
    "a group of floats": ("ArgumentTypeError", "group_m"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what):
    error, message = REFUSED[what]
    with pytest.raises(Exception) as raised:
        compile_kernel(kernels.wrong, {"x": "*fp32", "n": "i32"}, {"WHAT": what})
    found = cause_of(raised.value)
    assert type(found) is getattr(tle_raw.errors, error) and message in str(found), found
    lines = (Path(__file__).parent / "scheduler_kernels.py").read_text().splitlines()
    number = lines.index(f'    if WHAT == "{what}":') + 2
    assert f"scheduler_kernels.py:{number}" in str(found), found
