"""Marks the loads of a function from memory that nothing writes while it runs (``!invariant.load``).

Code generation for an NVIDIA GPU takes such loads by the read-only path, ``ld.global.nc``, as nvcc does for parameters
``const T* __restrict__``. LLVM sees it of a kernel's own parameters only, and loses it when the function is inlined
into another kernel.

A load is marked where its address is made of such parameters alone, by instructions that keep a pointer's object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tle_raw.linker.llvm.parameter_words import parameter_words
from tle_raw.linker.llvm.text import Edit, Entity, Module
from tle_raw.linker.llvm.written_parameters import NOT_WRITTEN

MARK = "!invariant.load"
_VALUE = r'%(?:[-\w$.]+|"[^"]*")'
# LLVM prints an instruction a line. All but the last make an address of others.
_MADE = re.compile(
    rf"^ *(?P<result>{_VALUE}) = (?P<opcode>getelementptr|phi|select|addrspacecast|load) (?P<rest>[^\n]*)", re.MULTILINE
)
_BASE = re.compile(rf"\bptr(?: addrspace\(1\))? ({_VALUE})")
_LOAD = re.compile(rf"(?!volatile|atomic).*?, ptr(?: addrspace\(1\))? ({_VALUE})(?=,|$)")
_INCOMING = re.compile(rf"\[ ({_VALUE}|[^,\]]*), {_VALUE} \]")


def mark_read_only_loads(module: Module, function: Entity) -> Iterator[Edit]:
    """The edits that mark them, for a function that runs alone: nothing else writes what its parameters point to."""
    names = set(_read_only(module, function))
    if not names:
        return
    bases: dict[str, list[str]] = {}
    loads: list[tuple[int, str]] = []
    for made in _MADE.finditer(module.text, function.body, function.end):
        rest = made["rest"]
        if made["opcode"] == "load":
            load = _LOAD.match(rest)
            if load and MARK not in rest:
                loads.append((made.end(), load[1]))
        else:
            bases[made["result"]] = list(_bases(made["opcode"], rest))
    known = _made_of(names, bases)
    marked = [end for end, address in loads if address in known]
    if marked:
        node = _free_node(module)
        yield from (Edit(end, end, f", {MARK} !{node}") for end in marked)
        yield Edit(len(module.text), len(module.text), f"\n!{node} = !{{}}\n")


def _read_only(module: Module, function: Entity) -> Iterator[str]:
    """Parameters that are the only way to their memory (``noalias``), and through which nothing is written."""
    for number, words in enumerate(parameter_words(module, function)):
        if words[0] == "ptr" and "noalias" in words and "byval" not in words and not NOT_WRITTEN.isdisjoint(words):
            yield words[-1] if words[-1].startswith("%") else f"%{number}"


def _bases(opcode: str, rest: str) -> Iterator[str]:
    """The pointers of which an instruction makes another; "" stands for what is no name."""
    if opcode == "phi":
        if rest.startswith("ptr"):
            yield from (base if base.startswith("%") else "" for base in _INCOMING.findall(rest))
        else:
            yield ""
        return
    found = _BASE.findall(rest)
    wanted = 2 if opcode == "select" else 1
    yield from (found[:wanted] if len(found) >= wanted else [""])


def _made_of(names: set[str], bases: dict[str, list[str]]) -> set[str]:
    """The values that are made of these alone; those of a loop may be made of each other."""
    known = {value for value, of in bases.items() if of} | names
    while refuted := {value for value in known - names if not known.issuperset(bases[value])}:
        known -= refuted
    return known


def _free_node(module: Module) -> int:
    return 1 + max((int(e.name) for e in module.of_kind("metadata") if e.name.isdecimal()), default=-1)
