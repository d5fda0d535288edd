"""The process in which a user's file is ported: ``python -m tle_raw.porting.child QUESTION ANSWERS``.

Both are files of pickles, of the process that started this one: a dialect's name and a request, then one answer after
the other, so that what was said before a crash is not lost.
"""

from __future__ import annotations

import pickle
import sys

from tle_raw.errors import TLEError
from tle_raw.fragments.adapter import PortingAdapter
from tle_raw.registry import find_adapter


def main(question: str, answers: str) -> int:
    with open(question, "rb") as file:
        dialect, request = pickle.load(file)
    with open(answers, "ab") as file:
        try:
            adapter = find_adapter(dialect)
            assert isinstance(adapter, PortingAdapter)
            for answer in adapter.port(request):
                pickle.dump(answer, file)
                file.flush()
        except TLEError as error:
            pickle.dump(error, file)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
