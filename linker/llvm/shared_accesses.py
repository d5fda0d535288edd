"""Loads, stores and atomics of Triton's whose marks say that they are of shared memory.

Triton writes each as inline assembly for global memory. ``flir/nvidia/order_pointers.py`` marks what
``tle.gpu.local_ptr`` points to; here the marked become instructions for shared memory::

    ld.volatile.global.cg.v4.b32 {...}, [ $4 + 0 ];                              ld.shared.v4.b32 {...}, [ $4 + 0 ];
    @$3 st.global.cs.L1::evict_last.L2::cache_hint.b32 [ $1 + 0 ], { $0 }, $2;   @$3 st.shared.b32 [ $1 + 0 ], { $0 };
    atom.global.cta.relaxed.add.u32 $0, [ $1 + 0 ], $2;                          atom.shared.cta.relaxed.add.u32 ...

An address in shared memory is a number below 2^32 whose upper half the instructions ignore. What is marked as another
block's becomes an instruction for the memory of the cluster::

    ld.volatile.global.ca.b32 {...}, [ $1 + 0 ];                 ld.shared::cluster.b32 {...}, [ $1 + 0 ];
    st.global.cs.L1::evict_first.b32 [ $1 + 0 ], { $0 };         st.shared::cluster.b32 [ $1 + 0 ], { $0 };
    atom.global.cta.acquire.add.u32 $0, [ $1 + 0 ], $2;          atom.relaxed.cluster.shared::cluster.add.u32 ...
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# A line of assembly may begin behind an escape with digits: ``\\09ld.volatile``.
_LOAD = re.compile(r"(?<![a-z.])ld\.volatile\.global\.c(?P<level>[ag])\.")
_STORE = re.compile(
    r"(?<![a-z.])st\.global\.cs\.L1::evict_(?P<kept>last|first)(?P<hint>\.L2::cache_hint)?(?P<rest>\.[^;]*?)"
    r"(?P<policy>, \$\d+)?;"
)
_ATOMIC = re.compile(r"(?<![a-z.])(atom|red)\.global\.(cta\.relaxed|relaxed\.cta)\.")
_REMOTE_ATOMIC = re.compile(r"(?<![a-z.])(atom|red)\.global\.(?:cta\.acquire|acquire\.cta)\.")
_LOADED, _KEPT, _OF_THE_BLOCK = "ld.volatile.global.c", ".cs.L1::evict_", (".cta.relaxed.", ".relaxed.cta.")
_ACQUIRED = (".cta.acquire.", ".acquire.cta.")
_MARKS = (_LOADED, _KEPT, *_OF_THE_BLOCK)  # each line that is edited has one
_MEMORY = {"g": "shared", "a": "shared::cluster", "last": "shared", "first": "shared::cluster"}
_ASSEMBLY = re.compile(r'\basm (?:sideeffect )?(?:alignstack )?"[^"]*"')


def shared_accesses(text: str, *, has_remote: bool = False) -> tuple[str, int]:
    """LLVM IR as Triton prints it, with the accesses to shared memory; how many instructions there are.

    ``has_remote`` says that some are of other blocks' memory, so that atomic operations that acquire are marked ones.
    """
    kept, found, end = list[str](), 0, 0
    marks = (*_MARKS, *_ACQUIRED) if has_remote else _MARKS
    for place in sorted({at for word in marks for at in _places(text, word)}):
        if place < end:
            continue
        begin, behind = text.rfind("\n", 0, place) + 1, text.find("\n", place)
        line = text[begin : behind if behind >= 0 else len(text)]
        edited, count = _edited(line, has_remote) if " asm " in line and _ASSEMBLY.search(line) else (line, 0)
        kept += [text[end:begin], edited]
        found, end = found + count, begin + len(line)
    return "".join((*kept, text[end:])), found


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _edited(line: str, has_remote: bool) -> tuple[str, int]:
    """Most lines hold none, and looking for a part of them is faster than for the whole."""
    loads = stores = atomics = 0
    if _LOADED in line:
        line, loads = _LOAD.subn(lambda found: f"ld.{_MEMORY[found['level']]}.", line)
    if _KEPT in line:
        line, stores = _STORE.subn(_stored, line)
    if _OF_THE_BLOCK[0] in line or _OF_THE_BLOCK[1] in line:
        line, atomics = _ATOMIC.subn(r"\1.shared.\2.", line)
    if has_remote and (_ACQUIRED[0] in line or _ACQUIRED[1] in line):
        line, atomics = _REMOTE_ATOMIC.subn(r"\1.relaxed.cluster.shared::cluster.", line)
    return line, loads + stores + atomics


def _stored(match: re.Match[str]) -> str:
    policy = "" if match["hint"] else match["policy"] or ""
    return f"st.{_MEMORY[match['kept']]}{match['rest']}{policy};"
