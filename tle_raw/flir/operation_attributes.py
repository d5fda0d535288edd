"""Attributes of operations in MLIR's generic form, on the line that ends them: those of a loop, of a branch, of others.

``"scf.for"(...) ({ ... }) {tt.num_stages = 3 : i32} : (i32, ...) -> (...)``
"""

from __future__ import annotations

from collections.abc import Mapping

from tle_raw.linker.mlir.text import matching_bracket, split_top_level

_REGIONS_END = "})"


def with_attributes(line: str, changed: Mapping[str, str | None]) -> str:
    """The last line of an operation with these attributes; None leaves one out.

    Parameters
    ----------
    line : of an operation with regions its last line, which begins with ``})``; else the whole operation.
    """
    start = _behind_regions_or_properties(line)
    rest = line[start:]
    old: dict[str, str] = {}
    if rest.lstrip().startswith("{"):
        opened = start + rest.index("{")
        end = matching_bracket(line, opened)
        old = dict(_entry(part) for part in split_top_level(line[opened + 1 : end]))
        rest = line[end + 1 :]
    kept: dict[str, str | None] = {**old, **changed}
    text = ", ".join(f"{name} = {value}" if value else name for name, value in kept.items() if value is not None)
    return f"{line[:start]}{f' {{{text}}}' if text else ''} {rest.lstrip()}"


def _behind_regions_or_properties(line: str) -> int:
    stripped = line.lstrip()
    if stripped.startswith(_REGIONS_END):
        return len(line) - len(stripped) + len(_REGIONS_END)
    end = matching_bracket(line, line.index('"(') + 1)
    behind = line[end + 1 :]
    if behind.lstrip().startswith("<{"):
        opened = end + 1 + behind.index("<")
        return matching_bracket(line, opened) + 1
    return end + 1


def _entry(part: str) -> tuple[str, str]:
    name, _, value = part.partition("=")
    return name.strip(), value.strip()
