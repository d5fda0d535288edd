"""Loads, stores and atomics of Triton's whose marks say that they are of shared memory.

Triton writes each as inline assembly for global memory. ``flir/nvidia/order_pointers.py`` marks what
``tle.gpu.local_ptr`` points to; here the marked become instructions for shared memory::

    ld.volatile.global.cg.v4.b32 {...}, [ $4 + 0 ];                              ld.shared.v4.b32 {...}, [ $4 + 0 ];
    @$3 st.global.cs.L1::evict_last.L2::cache_hint.b32 [ $1 + 0 ], { $0 }, $2;   @$3 st.shared.b32 [ $1 + 0 ], { $0 };
    atom.global.cta.relaxed.add.u32 $0, [ $1 + 0 ], $2;                          atom.shared.cta.relaxed.add.u32 ...

An address in shared memory is a number below 2^32 whose upper half the instructions ignore.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# A line of assembly may begin behind an escape with digits: ``\\09ld.volatile``.
_LOAD = re.compile(r"(?<![a-z.])ld\.volatile\.global\.cg\.")
_STORE = re.compile(
    r"(?<![a-z.])st\.global\.cs\.L1::evict_last(?P<hint>\.L2::cache_hint)?(?P<rest>\.[^;]*?)(?P<policy>, \$\d+)?;"
)
_ATOMIC = re.compile(r"(?<![a-z.])(atom|red)\.global\.(cta\.relaxed|relaxed\.cta)\.")
_LOADED, _KEPT, _OF_THE_BLOCK = "ld.volatile.global.cg.", ".cs.L1::evict_last", (".cta.relaxed.", ".relaxed.cta.")
_MARKS = (_LOADED, _KEPT, *_OF_THE_BLOCK)  # each line that is edited has one
_ASSEMBLY = re.compile(r'\basm (?:sideeffect )?(?:alignstack )?"[^"]*"')


def shared_accesses(text: str) -> tuple[str, int]:
    """LLVM IR as Triton prints it, with the accesses to shared memory; how many instructions there are."""
    kept, found, end = list[str](), 0, 0
    for place in sorted({at for word in _MARKS for at in _places(text, word)}):
        if place < end:
            continue
        begin, behind = text.rfind("\n", 0, place) + 1, text.find("\n", place)
        line = text[begin : behind if behind >= 0 else len(text)]
        edited, count = _edited(line) if " asm " in line and _ASSEMBLY.search(line) else (line, 0)
        kept += [text[end:begin], edited]
        found, end = found + count, begin + len(line)
    return "".join((*kept, text[end:])), found


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _edited(line: str) -> tuple[str, int]:
    """Most lines hold none, and looking for a part of them is faster than for the whole."""
    loads = stores = atomics = 0
    if _LOADED in line:
        line, loads = _LOAD.subn("ld.shared.", line)
    if _KEPT in line:
        line, stores = _STORE.subn(_stored, line)
    if _OF_THE_BLOCK[0] in line or _OF_THE_BLOCK[1] in line:
        line, atomics = _ATOMIC.subn(r"\1.shared.\2.", line)
    return line, loads + stores + atomics


def _stored(match: re.Match[str]) -> str:
    policy = "" if match["hint"] else match["policy"] or ""
    return f"st.shared{match['rest']}{policy};"
