"""Loops that are unrolled as far as they shall be: an optimiser that sees the module once more leaves their turns.

The mark is not ``llvm.loop.unroll.disable``, which LLVM hands on to ptxas: ptxas unrolls them as it likes.
"""

from __future__ import annotations

import re

_LOOP = re.compile(r"!llvm\.loop !(\d+)\b")
_NODE = re.compile(r"^(!(\d+) = distinct !\{.*)\}$", re.MULTILINE)
_NUMBER = re.compile(r"^!(\d+) = ", re.MULTILINE)
_DISABLED = '!{!"llvm.loop.disable_nonforced"}'


def finish_loops(text: str) -> str:
    """The module whose marked loops are not unrolled any more."""
    loops = set(_LOOP.findall(text))
    if not loops:
        return text
    mark = 1 + max(map(int, _NUMBER.findall(text)))
    text = _NODE.sub(lambda node: f"{node[1]}, !{mark}}}" if node[2] in loops else node[0], text)
    return f"{text.rstrip()}\n!{mark} = {_DISABLED}\n"
