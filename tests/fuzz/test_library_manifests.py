"""Manifests of libraries with one mismatch each are refused by name, before any compiler or GPU sees them."""

import pytest

from tests.fuzz.library_manifests import MISMATCHES, run

pytestmark = pytest.mark.one_triton


def test_each_mismatch_is_refused_by_name():
    kinds, problems = run(600)
    assert not problems, "\n\n".join(problems[:5])
    assert kinds.keys() == {mismatch.__name__ for mismatch in MISMATCHES}
