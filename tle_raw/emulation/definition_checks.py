"""Debug: accesses and divisions inside of the functions that stand for inline PTX and NVVM intrinsics."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tle_raw.emulation.debug_checks import Numbering, check_accesses
from tle_raw.linker.llvm.text import Edit, Module, apply_edits, read_module
from tle_raw.linker.llvm.total_divisions import Division, divisions, tests

# What functions of the runtime do with the memory that their first argument points to.
_RUNTIME = {
    "mbarrier_init": ("write", 8),
    "mbarrier_arrive": ("read", 8),
    "mbarrier_test": ("read", 8),
}
_CALL = re.compile(
    r"^(?P<indent>[ \t]+)(?:%\S+ = )?call \w+ @tle_team_(?P<name>\w+)\(ptr (?P<pointer>%\S+),", re.MULTILINE
)


@dataclass(frozen=True)
class _Given:
    """The number of the place that calls a function: its last parameter, where it is told."""

    site: str

    def number(self, location: str) -> str:
        return self.site


def check_definition(text: str, with_divisions: bool) -> str:
    """A function that was written for inline PTX or an intrinsic, with the runtime's checks in it."""
    given = _Given("%site" if "i32 %site)" in text.partition("\n")[0] else "0")
    module = read_module(_check_runtime(text, given.site))
    module = check_accesses(module, given)
    return check_divisions(module, given).text if with_divisions else module.text


def _check_runtime(text: str, site: str) -> str:
    edits = []
    for match in _CALL.finditer(text):
        if match["name"] in _RUNTIME:
            word, size = _RUNTIME[match["name"]]
            check = f"call void @tle_team_check_{word}(ptr {match['pointer']}, i64 {size}, i32 {site})"
            edits.append(Edit(match.start(), match.start(), f"{match['indent']}{check}\n"))
    return apply_edits(text, edits)


def check_divisions(module: Module, sites: Numbering) -> Module:
    """The module with ``tle_team_check_division`` before its integer divisions."""
    return module.edited(Edit(d.start, d.start, _check(d, sites)) for d in divisions(module.text))


def _check(division: Division, sites: Numbering) -> str:
    location = re.search(r"!dbg (!\d+)", division.rest)
    site = sites.number(location[1] if location else "")
    own = replace(division, name=f"%{division.name[1:].strip(chr(34))}.checked")
    lines = [*tests(own)]
    for word in ("zero", "trap") if own.is_signed else ("zero",):
        lines += _as_number(own, word)
    numbers = [own.beside(f"{word}.number") for word in ("zero", "trap" if own.is_signed else "zero")]
    lines.append(f"call void @tle_team_check_division(i32 {numbers[0]}, i32 {numbers[1]}, i32 {site})")
    return "".join(f"{division.indent}{line}{division.rest}\n" for line in lines)


def _as_number(division: Division, word: str) -> list[str]:
    """A test as an i32: of a vector, a bit for each element."""
    if division.type.kind != "vector":
        return [f"{division.beside(f'{word}.number')} = zext i1 {division.beside(word)} to i32"]
    bits = f"i{division.type.count}"
    return [
        f"{division.beside(f'{word}.bits')} = bitcast {division.bit} {division.beside(word)} to {bits}",
        f"{division.beside(f'{word}.number')} = zext {bits} {division.beside(f'{word}.bits')} to i32",
    ]
