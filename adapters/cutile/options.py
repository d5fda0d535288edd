"""The options of the dialect, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tle_raw.adapters.cutile.dtypes import CARRIED
from tle_raw.adapters.cutile.specialise.facts import Facts
from tle_raw.errors import DialectError
from tle_raw.fragments.options import known_options, wrong_type

NAMES = ("grid", "dtypes", "lists", "alias", "alone", "multiples", "specialise")
_OWN = ("planned", "descriptors", "unplanned")  # of whole kernels, by themselves


@dataclass(frozen=True)
class Options:
    """``grid`` maps an axis of ``ct.bid`` to an axis of the Triton program, or to the name of an argument of the call;
    a pair of names gives ``ct.num_blocks`` too.

    ``dtypes`` names the parameters whose elements are of a dtype that Triton does not have, ``lists`` those that are
    lists of arrays: a tuple of arrays whose index may be known at run time only. ``alias`` holds groups of parameters
    that are arrays which may overlap. ``unordered`` (``alone=``) is the caller's promise that the Triton code around a
    region touches none of the memory that the region does, and ``multiples`` the one that the sizes of an array are
    multiples of these numbers: a tile whose size divides them lies inside the array as a whole, or outside.
    ``specialise`` says whether ``as_kernel()`` gives loops over tiles a warp that only copies: by default where that is
    known to pay; True wherever partitions of warps run, and False nowhere. ``planned`` is set for the region of such a
    kernel, which gets ``descriptors`` by these names, and ``unplanned`` says of another one why it is none.
    """

    grid: Mapping[int, int | str | tuple[str, str]] = field(default_factory=dict)
    dtypes: Mapping[str, str] = field(default_factory=dict)
    lists: tuple[str, ...] = ()
    alias: tuple[tuple[str, ...], ...] = ()
    unordered: bool = False
    multiples: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    specialise: bool | None = None
    planned: Facts | None = None
    descriptors: tuple[str, ...] = ()
    unplanned: str = ""

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """What can change the code, sorted."""
        return (
            ("alias", str(self.alias)),
            ("alone", str(self.unordered)),
            ("dtypes", str(sorted(self.dtypes.items()))),
            ("grid", str(sorted(self.grid.items()))),
            ("lists", ",".join(self.lists)),
            ("multiples", str(sorted(self.multiples.items()))),
            *([("planned", f"{self.planned}")] if self.planned is not None else []),
        )

    @property
    def given_names(self) -> tuple[str, ...]:
        """The arguments of the call that give block ids and their numbers."""
        names: list[str] = []
        for place in self.grid.values():
            names += [place] if isinstance(place, str) else list(place) if isinstance(place, tuple) else []
        return tuple(names)


def read_options(given: Mapping[str, Any]) -> Options:
    """Check names and kinds.

    Raises
    ------
    DialectError : an unknown option, or a value of another kind.
    """
    own = {name: given[name] for name in _OWN if name in given}
    options = known_options("cutile", {name: v for name, v in given.items() if name not in own}, NAMES, {})
    grid, dtypes, unordered = options.get("grid", {}), options.get("dtypes", {}), options.get("alone", False)
    if not isinstance(grid, Mapping) or not all(_is_axis(k) and _is_place(v) for k, v in grid.items()):
        raise wrong_type("grid", "{0: 1, 1: 'row', 2: ('row', 'rows')}: for an axis of ct.bid its place", grid)
    if not isinstance(dtypes, Mapping) or not all(isinstance(k, str) for k in dtypes):
        raise wrong_type("dtypes", "{'x_scale': 'float8_e8m0fnu'}: for a parameter its dtype", dtypes)
    dtypes = {name: str(getattr(dtype, "name", dtype)) for name, dtype in dtypes.items()}
    unknown = [d for d in dtypes.values() if d not in CARRIED]
    if unknown:
        raise DialectError(f"dtypes= cannot give {unknown[0]!r} to a parameter", hint=f"it knows {', '.join(CARRIED)}")
    lists = options.get("lists", ())
    if isinstance(lists, str) or not all(isinstance(name, str) for name in lists):
        raise wrong_type("lists", "['xs']: the names of parameters", lists)
    alias = options.get("alias", ())
    if isinstance(alias, str) or not all(_is_group(group) for group in alias):
        raise wrong_type("alias", "[('x', 'y')]: groups of parameters", alias)
    if not isinstance(unordered, bool):
        raise wrong_type("alone", "True or False", unordered)
    multiples = options.get("multiples", {})
    if not isinstance(multiples, Mapping) or not all(
        isinstance(k, str) and _are_sizes(v) for k, v in multiples.items()
    ):
        raise wrong_type("multiples", "{'x': (128, 64)}: for a parameter what its sizes are multiples of", multiples)
    multiples = {name: tuple(sizes) for name, sizes in multiples.items()}
    specialise = options.get("specialise")
    if specialise not in (None, True, False):
        raise wrong_type("specialise", "True, False or None", specialise)
    groups = tuple(map(tuple, alias))
    found = Options(dict(grid), dtypes, tuple(lists), groups, unordered, multiples, specialise, **own)
    twice = [n for n in found.given_names if found.given_names.count(n) > 1]
    if twice:
        raise DialectError(f"grid= uses the name {twice[0]!r} twice")
    return found


def _is_group(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(isinstance(name, str) for name in value)


def _are_sizes(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(type(n) is int and n > 0 for n in value)


def _is_axis(value: Any) -> bool:
    return type(value) is int and 0 <= value <= 2


def _is_place(value: Any) -> bool:
    if isinstance(value, tuple):
        return len(value) == 2 and all(isinstance(v, str) and v.isidentifier() for v in value)
    return _is_axis(value) or (isinstance(value, str) and value.isidentifier())
