"""The offsets of an address are added up before they are added to its base, as nvcc adds them.

``p[a * s + b * t]`` is one offset in the source. LLVM divides it, so that loops share what does not change: an address
plus ``a * s``, plus ``b * t``. Where nothing shares the first address a GPU pays for it, since an address takes two
instructions of 32 bits for every step, while a product is added to a sum by the multiplication itself. What it pays
says samples/benchmarks/RESULTS.md; ``TLE_RAW_DISABLE_PASSES=join-offsets`` compiles without it.
"""

from __future__ import annotations

import re
from collections import Counter

from tle_raw.linker.llvm.control_flow import ELEMENT, NAME, names_in, with_bodies

_STEP = re.compile(
    rf"  ({NAME}) = getelementptr (?:inbounds |nuw |nusw )*({ELEMENT}), (ptr(?: addrspace\(\d\))?) ({NAME}), "
    rf"i64 ({NAME})((?:, ![^\n]*)?)"
)


def join_offsets(text: str) -> str:
    """The module with addresses of one block that only another address uses, of the same type, joined with it."""
    return with_bodies(text, _joined)


def _joined(body: str) -> str:
    lines, made = body.split("\n"), list[str]()
    found = list(filter(None, map(_STEP.fullmatch, lines)))
    if not {step[4] for step in found} & {step[1] for step in found}:  # no address is a step from another one
        return body
    uses = Counter(name for line in lines if " = " in line or line.startswith("  ") for name in names_in(line))
    steps: dict[str, tuple[str, str, str]] = {}  # type, base and offset of an address of this block
    for line in lines:
        step = _STEP.fullmatch(line)
        if step is None:
            if not line.startswith(" "):
                steps.clear()
            made.append(line)
            continue
        name, type_, pointer, base, offset, place = step.groups()
        before = steps.get(base)
        if before and before[0] == type_ and uses[base] == 2:
            total = f'%"{name[1:].strip(chr(34))}.tle.offset"'
            base, line = before[1], f"  {total} = add i64 {before[2]}, {offset}{place}"
            made.append(line)
            line, offset = f"  {name} = getelementptr {type_}, {pointer} {base}, i64 {total}{place}", total
        steps[name] = (type_, base, offset)
        made.append(line)
    return "\n".join(made)
