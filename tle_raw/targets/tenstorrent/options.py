"""The options of the target, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tle_raw.errors import DialectError, Row, UnsupportedFeatureError
from tle_raw.near_names import did_you_mean

OLDER = "0.70.1"
RELEASES = ("0.81.1", OLDER)
_LAYOUT = ("memory", "layout", "format", "shard")
_VALUES = {
    "memory": ("DRAM", "L1"),
    "layout": ("interleaved", "sharded"),
    "format": ("bfp8_b", "bfp4_b"),
}


@dataclass(frozen=True)
class Options:
    """What a compilation may be told.

    Attributes
    ----------
    core_grid : columns and rows of cores that may be used.
    api : the release of the kernel API that the files are written for.
    partition : ``global``, a contiguous share of all blocks for each core, or ``local_shard``, a rectangle of them.
    layouts : by tensor: ``memory`` (DRAM or L1), ``layout`` (interleaved or sharded), ``format`` (bfp8_b or bfp4_b,
        block floats in memory), ``shard`` (a shard's rows and columns, in tiles).
    l1_bytes : how much of a core's L1 the circular buffers may take.
    """

    core_grid: tuple[int, int] = (8, 8)
    api: str = RELEASES[0]
    partition: str = "global"
    layouts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    l1_bytes: int = 1_395_424


def read_options(given: Mapping[str, Any]) -> Options:
    """Check names and values.

    Raises
    ------
    DialectError : an unknown option, or a value of another kind. UnsupportedFeatureError : a halo hint.
    """
    known = [each.name for each in fields(Options)]
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known, f"it has {', '.join(known)}", quote="'")
            raise DialectError(f"target 'tenstorrent' has no option `{name}`", hint=hint)
    options = Options(**given)
    grid = options.core_grid
    if len(tuple(grid)) != 2 or not all(isinstance(n, int) and n > 0 for n in grid):
        raise _wrong("core_grid", "two numbers of cores, x and y", grid)
    if options.api not in RELEASES:
        raise _wrong("api", " or ".join(RELEASES), options.api)
    if options.partition not in ("global", "local_shard"):
        raise _wrong("partition", "'global' or 'local_shard'", options.partition)
    for tensor, layout in options.layouts.items():
        _check_layout(tensor, layout)
    return Options(**{**vars(options), "core_grid": (grid[0], grid[1])})


def _check_layout(tensor: str, layout: Mapping[str, Any]) -> None:
    for key, value in layout.items():
        if key == "halo":
            raise UnsupportedFeatureError(
                f"a halo hint, of `{tensor}`: blocks share no borders here",
                hint="leave it out; neighbouring blocks read what they need from global memory",
            )
        if key not in _LAYOUT:
            raise _wrong(f"layouts[{tensor!r}]", f"keys of {', '.join(_LAYOUT)}", key)
        if key in _VALUES and value not in _VALUES[key]:
            raise _wrong(f"layouts[{tensor!r}][{key!r}]", " or ".join(_VALUES[key]), value)
        if key == "shard" and not (len(value) == 2 and all(isinstance(n, int) and n > 0 for n in value)):
            raise _wrong(f"layouts[{tensor!r}]['shard']", "rows and columns of tiles", value)


def _wrong(name: str, expected: str, got: object) -> DialectError:
    return DialectError(f"the option {name}= has a wrong value", table=[Row(name, expected, repr(got))])
