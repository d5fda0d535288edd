"""What a dialect cannot write is refused, and what is not refused is tested."""

import pytest

from tests.contracts.running import DIALECTS, dialect, our_error
from tests.contracts.subjects import SUBJECTS
from tests.contracts.unsupported import UNSUPPORTED


@pytest.mark.parametrize("name, subject", UNSUPPORTED)
def test_it_is_refused_in_clear_words(name, subject):
    dialect(name)
    case = UNSUPPORTED[name, subject]
    with pytest.raises(Exception) as caught:
        case.attempt()
    error = our_error(caught.value)
    assert type(error) is case.kind and case.words in str(error) and error.context.fragment


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_writes_each_subject_or_says_why_not(name):
    refused = {subject for dialect_name, subject in UNSUPPORTED if dialect_name == name}
    assert set(dialect(name).SUBJECTS) == set(SUBJECTS) - refused
