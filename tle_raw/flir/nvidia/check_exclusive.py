"""Regions that are all that their kernel does: nothing stands before them, nothing follows, nothing repeats them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tle_raw.errors import RegionError, Row
from tle_raw.flir.nvidia.read_ports import Region
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.linker.mlir.text import operation_name

_HARMLESS = ("module", "tt.func", "tt.return", "tt.get_program_id", "tt.get_num_programs", "tt.extern_elementwise")
_ARITHMETIC = ("arith.", "ub.")


def check_exclusive(lines: Sequence[str], regions: Sequence[Region], fragments: Sequence[CompiledFragment]) -> None:
    """A fragment that was compiled to stand alone leaves out what others in its kernel would need.

    Raises
    ------
    RegionError : it has company.
    """
    for region, fragment in zip(regions, fragments):
        company = next(_company(lines), "another region" if len(regions) > 1 else "")
        if fragment.exclusive and company:
            raise RegionError(
                f"the fragment `{fragment.name}` was declared to stand alone in its kernel",
                table=[Row("beside it", "nothing", company)],
                hint="leave alone= out",
            ).at(fragment=fragment.name, call_site=region.record.call_site)


def stands_alone(lines: Sequence[str], regions: Sequence[Region], fragments: Sequence[CompiledFragment]) -> bool:
    """Whether a kernel is one region and nothing else: no memory of others is there to be ordered with its own."""
    return len(regions) == 1 and not fragments[0].bound.tiles and next(_company(lines), None) is None


def _company(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        name = "" if line.startswith(("#", "//")) else operation_name(line)
        if name and name not in _HARMLESS and not name.startswith(_ARITHMETIC):
            yield name
