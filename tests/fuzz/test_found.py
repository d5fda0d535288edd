"""Every kernel that was once wrong, is right. Each file of ``found/`` is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.cases import differences, parse

pytest.importorskip("torch")
FOUND = sorted((Path(__file__).parent / "found").glob("*.py"))


@pytest.mark.parametrize("file", FOUND, ids=lambda file: file.stem)
def test_a_kernel_that_was_wrong_is_right(file: Path, engines):
    case = parse(file.read_text())
    want = engines.interpreter.run(case.in_plain_form if case.plain else case)
    assert differences(case, engines.backend.run(case), want) == []
