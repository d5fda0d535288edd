"""The options of the dialect, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tle_raw.adapters.tilelang.program import Program
from tle_raw.errors import DialectError, Row
from tle_raw.near_names import did_you_mean

ROUTES = ("traced", "linked")
_NAMES = (
    *(
        "tiles",
        "grid",
        "route",
        "arguments",
        "in_grid",
        "pass_configs",
        "tma",
        "alone",
        "barriers",
        "buffers",
        "specialise",
    ),
    *("planned", "unplanned"),  # of whole kernels, by themselves
)


@dataclass(frozen=True)
class Options:
    """``grid`` maps an axis of ``T.Kernel`` to a program id's axis, or to the name of a parameter of the call.

    ``in_grid`` is the caller's promise that block indices lie inside the PrimFunc's own grid: what its extents prove
    to be in bounds is not checked then. ``pass_configs`` is TileLang's own configuration, for the linked route.
    ``tma`` says that the call passes TMA descriptors, made by ``fragment.descriptors(...)``: the linked route then
    leaves TMA and warps that only load as TileLang has them. By default ``as_kernel()`` does so by itself.
    ``exclusive`` (``alone=``) is the promise that the region is all that its kernel does, as in ``as_kernel()``; it is
    held against the kernel. The linked route then has just the threads that TileLang has, where Triton's own code knows
    blocks of 32, 64, 128, … only and the others would stand idle, and it puts nothing in order for code before or
    behind it. ``barriers`` names buffers of ``T.alloc_barrier`` that are barriers of the Triton kernel,
    ``buffers`` those of ``T.alloc_shared`` that are its shared buffers.
    ``specialise`` says whether ``as_kernel()`` gives a traced loop a warp that only copies: by default where that is
    known to pay; True wherever partitions of warps run, and False nowhere. ``is_planned`` (``planned=``) is set for the
    region of such a kernel, and ``unplanned`` says of another one why it is none.
    """

    tiles: tuple[str, ...] = ()
    grid: Mapping[str, int | str] = field(default_factory=dict)
    route: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    in_grid: bool = False
    pass_configs: Mapping[str, Any] = field(default_factory=dict)
    tma: bool | None = None
    exclusive: bool = False
    barriers: tuple[str, ...] = ()
    buffers: tuple[str, ...] = ()
    specialise: bool | None = None
    is_planned: bool = False
    unplanned: str = ""

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """What can change the code, sorted."""
        grid = ",".join(f"{k}={v}" for k, v in sorted(self.grid.items()))
        return (
            ("alone", str(self.exclusive)),
            ("barriers", ",".join(self.barriers)),
            *([("buffers", ",".join(self.buffers))] if self.buffers else []),
            ("grid", grid),
            ("in_grid", str(self.in_grid)),
            *([("planned", "True")] if self.is_planned else []),
            ("route", self.route or ""),
            ("tiles", ",".join(self.tiles)),
            ("tma", str(self.tma)),
        )


def read_options(given: Mapping[str, Any]) -> Options:
    """Check names and kinds.

    Raises
    ------
    DialectError : an unknown option, or a value of another kind.
    """
    for name in given:
        if name not in _NAMES:
            raise DialectError(
                f"dialect 'tilelang' has no option `{name}`",
                hint=did_you_mean(name, _NAMES, f"it has {', '.join(_NAMES)}", quote="'"),
            )
    tiles, barriers, buffers = (_names(name, given) for name in ("tiles", "barriers", "buffers"))
    route = given.get("route")
    if route not in (None, *ROUTES):
        raise _wrong("route", "'traced', 'linked' or None", route)
    grid = given.get("grid") or {}
    if not isinstance(grid, Mapping) or not all(_is_place(v) for v in grid.values()):
        raise _wrong("grid", "{'bx': 0, 'by': 'row'}: a program id's axis, or a parameter's name", grid)
    arguments = given.get("arguments") or {}
    if not isinstance(arguments, Mapping):
        raise _wrong("arguments", "a dictionary", arguments)
    configs = given.get("pass_configs") or {}
    if not isinstance(configs, Mapping):
        raise _wrong("pass_configs", "a dictionary", configs)
    configs = {str(getattr(key, "value", key)): value for key, value in configs.items()}
    for name in ("in_grid", "alone"):
        if not isinstance(given.get(name, False), bool):
            raise _wrong(name, "True or False", given[name])
    in_grid, exclusive, tma = given.get("in_grid", False), given.get("alone", False), given.get("tma")
    if tma not in (None, True, False):
        raise _wrong("tma", "True, False or None", tma)
    specialise = given.get("specialise")
    if specialise not in (None, True, False):
        raise _wrong("specialise", "True, False or None", specialise)
    planned = bool(given.get("planned")), str(given.get("unplanned", ""))
    names = (barriers, buffers)
    return Options(
        tiles, dict(grid), route, dict(arguments), in_grid, configs, tma, exclusive, *names, specialise, *planned
    )


def _names(option: str, given: Mapping[str, Any]) -> tuple[str, ...]:
    names = given.get(option, ())
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise _wrong(option, "a list of buffers' names", names)
    if len(set(names)) != len(tuple(names)):
        raise _wrong(option, "each name once", names)
    return tuple(names)


def _is_place(value: Any) -> bool:
    return (isinstance(value, str) and value.isidentifier()) or (type(value) is int and 0 <= value <= 2)


def _wrong(name: str, expected: str, got: Any) -> DialectError:
    return DialectError(f"the option {name}= has a wrong value", table=[Row(name, expected, repr(got))])


def block_indices(program: Program, options: Options) -> dict[str, int | str]:
    """For each axis of the grid, by its tag: the program id's axis, or the name of the parameter that gives it.

    Raises
    ------
    DialectError : ``grid=`` names an axis that the kernel does not have, or a parameter twice.
    """
    names = {axis.name: axis for axis in program.grid}
    unknown = [n for n in options.grid if n not in names]
    if unknown:
        raise DialectError(
            f"grid= names `{unknown[0]}`, which is no block index of `{program.name}`",
            table=[Row("grid=", f"of {', '.join(names)}", unknown[0])],
        )
    places: dict[str, int | str] = {}
    for number, axis in enumerate(program.grid):
        places[axis.tag] = options.grid.get(axis.name, number)
    given = [p for p in places.values() if isinstance(p, str)]
    taken = [p for p in given if p in program.order or p in program.dims or given.count(p) > 1]
    if taken:
        raise DialectError(f"grid= gives the name `{taken[0]}` to a block index, which is taken", hint="choose another")
    return places
