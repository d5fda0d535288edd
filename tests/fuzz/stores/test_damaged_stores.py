"""Whatever becomes of a file of a cache: right numbers or a named error, and the cache is healthy again."""

import random
from collections import Counter

import pytest

from tests.fuzz.stores.caches import CHILDREN, cases, wrong

pytestmark = pytest.mark.one_triton


def test_every_cache_is_among_the_files(caches):
    assert {file.parts[0] for file in caches.files} == {"kernels", "fragments", "team", "headers", "links"}


def test_damage_gives_right_numbers_and_heals(caches, damages):
    outcomes, failures = Counter(), []
    for number, (file, kind, several) in enumerate(cases(caches, damages)):
        dice = random.Random(number)
        caches.restore()
        caches.damage(file, kind, dice)
        kills = [dice.choice((None, dice.uniform(0, 2))) for _ in range(CHILDREN - 1)] if several else []
        said = caches.run((None, *kills))
        outcomes.update(s.partition(":")[0][:40] for s in said)
        faults = wrong(said) or caches.faults()
        print(number, file, kind, "several" if several else "alone", faults or "healthy", flush=True)
        failures += [f"{file}, {kind}, {'several' if several else 'alone'}: {faults}"] if faults else []
    print(f"\n{damages} damages of {len(caches.files)} files: {dict(outcomes)}")
    assert not failures, "\n".join(failures)
