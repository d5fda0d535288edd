"""Manifests of libraries with one mismatch each are refused by name, before any compiler or GPU sees them."""

import pytest

from tests.fuzz import library_overloads
from tests.fuzz.library_manifests import MISMATCHES, run

pytestmark = pytest.mark.one_triton


def test_each_mismatch_is_refused_by_name():
    kinds, problems = run(600)
    assert not problems, "\n\n".join(problems[:5])
    assert kinds.keys() == {mismatch.__name__ for mismatch in MISMATCHES}


def test_overloads_tiles_cuda_and_broken_texts_are_refused_by_name():
    kinds, problems = run(600, draw=library_overloads.draw)
    assert not problems, "\n\n".join(problems[:5])
    assert kinds.keys() == {kind.__name__ for kind in library_overloads.KINDS}
