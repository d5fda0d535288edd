"""What all threads of a block compute alike in a kernel: from its parameters, sizes and places of blocks, constants."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tle_raw.linker.llvm.control_flow import NAME, blocks_of, names_in, result_of
from tle_raw.linker.llvm.references import reachable, references
from tle_raw.linker.llvm.text import read_module

KERNEL = re.compile(r"\bptx_kernel\b[^@\n]*@")
_SAME = re.compile(r"@llvm\.nvvm\.read\.ptx\.sreg\.(?:ctaid|nctaid|ntid)\b")
_COMPUTED = re.compile(
    r"  \S+ = (?:add|sub|mul|shl|lshr|ashr|and|or|xor|[us]div|[us]rem|trunc|zext|sext|icmp|select|freeze)\b"
    r"|  \S+ = (?:tail )?call [^@\n]*@llvm\.[us](?:min|max)\."
)
_ALIKE = re.compile(r"  \S+ = (?:load (?!atomic|volatile)|getelementptr|addrspacecast|bitcast|f?cmp)\b")
_UNSWITCHED = re.compile(
    rf"  br i1 ({NAME}), label (?:%\S*\.split\.us\S*, label \S+|\S+, label %\S*\.split\.us\S*)", re.M
)


def is_uniform(name: str, defined: Mapping[str, str], phis: Mapping[str, Iterable[str]] | None = None) -> bool:
    """Whether a value of a kernel is the same for all threads.

    Parameters
    ----------
    defined : the instructions by the names of their results; other names are the kernel's parameters.
    phis : what comes together in phis that all threads pass alike.
    """
    looked_at, open_ = set[str](), [name]
    while open_:
        name = open_.pop()
        if name in looked_at:
            continue
        looked_at.add(name)
        if phis and name in phis:
            open_ += [value for value in phis[name] if value.startswith("%")]
        elif (line := defined.get(name)) is not None and not _SAME.search(line):
            if not _COMPUTED.match(line):
                return False
            open_ += names_in(line)[1:]
    return True


def is_computed_alike(line: str) -> bool:
    """Whether threads that have the same operands get the same from an instruction, memory left as it is."""
    return bool(_COMPUTED.match(line) or _ALIKE.match(line) or _SAME.search(line))


def is_divided_by_threads(text: str, root: str) -> bool:
    """Whether LLVM has made two loops of one, by a question that threads answer in different ways.

    Each warp then runs both. ``root`` reaches the functions that count.
    """
    if ".split.us" not in text:
        return False
    module = read_module(text)
    reached = reachable(references(module), [root])
    for entity in module.of_kind("define"):
        source = module.source(entity) if entity.name in reached else ""
        asked = _UNSWITCHED.findall(source)
        if not asked:
            continue
        body = module.text[entity.body + 2 : entity.end - 1]
        defined = {name: line for block in blocks_of(body) for line in block.lines if (name := result_of(line))}
        if not KERNEL.search(source.partition("\n")[0]) or not all(is_uniform(name, defined) for name in asked):
            return True
    return False
