"""Right declarations compute the right numbers; one fault in a declaration or a call is refused. README.md says how."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import tle_raw
from tests.fuzz.signatures.cuda_batches import refused
from tests.fuzz.signatures.drawing import LANGUAGES, Wrong, draw_case, draw_wrong, is_right
from tests.fuzz.signatures.running import described, not_refused, wrong_numbers

pytestmark = pytest.mark.every_triton(2)

pytest.importorskip("torch")
ALL = pytest.mark.parametrize("dialect", LANGUAGES)
CI = 100
REGIONS, BATCH = 4, 150  # in one kernel, in one run of clang
RIGHT_SHARE, ALONE_SHARE = 0.01, 0.01  # of the nightly ones: the slow ones, which compile and run, or ask clang alone


@pytest.fixture
def seed(signatures: int) -> int:
    return 0 if signatures <= CI else int.from_bytes(os.urandom(4))


@pytest.fixture
def tell(capsys, signatures: int, seed: int):
    """In the nightly mode the counts are printed as they come."""

    def told(text: str) -> None:
        if signatures > CI:
            with capsys.disabled():
                print(f"\n{text}, seed {seed}", flush=True)

    return told


@ALL
def test_right_declarations_give_right_numbers(dialect: str, signatures: int, seed: int, tell):
    random, done = Random(f"{seed} right {dialect}"), 0
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        for _ in range(max(1, round(signatures * RIGHT_SHARE / REGIONS))):
            cases = [draw_case(random, dialect, f"f{i}") for i in range(REGIONS)]
            wrong = wrong_numbers(cases, seed)
            assert not wrong, f"seed {seed}\n{wrong}"
            done += len(cases)
    tell(f"{dialect}: {done} declarations taken, with right numbers")


@pytest.mark.one_triton
@ALL
def test_one_fault_is_refused_by_a_named_error(dialect: str, signatures: int, seed: int, tell):
    random, places = Random(f"{seed} wrong {dialect}"), {"function": 0, "signature": 0, "call": 0}
    for wrong in _wrong_ones(random, dialect, signatures):
        found = not_refused(wrong)
        assert not found, f"seed {seed}\n{found}"
        places[wrong.place] += 1
    tell(f"{dialect}: {sum(places.values())} refused, with a fault in {places}")


def _wrong_ones(random: Random, dialect: str, signatures: int) -> Iterator[Wrong]:
    """A third of all; of CUDA's faults in functions and signatures only a few, as each is a run of clang."""
    alone = itertools.count()
    for _ in range(signatures // 3):
        wrong = draw_wrong(random, dialect, "f")
        if dialect != "cuda" or wrong.place == "call" or next(alone) < max(3, signatures * ALONE_SHARE):
            yield wrong


@pytest.mark.one_triton
def test_the_compiler_refuses_a_fault_and_takes_the_rest(signatures: int, seed: int, tell, tmp_path: Path):
    random, counts = Random(f"{seed} batch"), [0, 0]
    for _ in range(max(1, round(signatures / 3 / BATCH))):
        drawn = [_for_a_batch(random, f"f{i}") for i in range(min(BATCH, signatures))]
        cases = [wrong.case if isinstance(wrong, Wrong) else wrong for wrong in drawn]
        got = refused(cases, tmp_path)
        for index, (wrong, case) in enumerate(zip(drawn, cases)):
            is_wrong = isinstance(wrong, Wrong)
            what = f"{wrong.place}, {wrong.what}" if isinstance(wrong, Wrong) else "right"
            assert (index in got) == is_wrong, f"seed {seed}: {what}\n{described(case)}"
            counts[is_wrong] += 1
    tell(f"cuda, many at once: {counts[0]} taken, {counts[1]} refused")


def _for_a_batch(random: Random, name: str):
    while random.random() < 0.75:
        wrong = draw_wrong(random, "cuda", name)
        if wrong.place != "call":
            return wrong
    return draw_case(random, "cuda", name)


@ALL
def test_what_is_drawn_as_right_is_right_for_the_oracle(dialect: str):
    random = Random(dialect)
    for case in (draw_case(random, dialect, "f") for _ in range(100)):
        assert is_right(case), described(case)
