"""A whole kernel for arguments of one kind: with a warp that only copies where that can be and pays, else as before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tle_raw.adapters.common.refusals import refusal
from tle_raw.adapters.cutile.specialise.facts import Facts, Unfit
from tle_raw.adapters.cutile.specialise.tile_rings import TileRing
from tle_raw.adapters.cutile.specialise.tile_stores import TileStore
from tle_raw.adapters.cutile.tile_descriptors import HOPPER, describe_tiles
from tle_raw.adapters.cutile.typed_ir import TypedFunction
from tle_raw.errors import SourceLocation, TLEError, UntraceableError
from tle_raw.target import Target

STAGES = 3  # Triton's own default


@dataclass(frozen=True)
class Way:
    """``kernel`` takes a descriptor for each of ``described`` behind the other arguments."""

    kernel: Any
    described: tuple[TileRing | TileStore, ...] = ()


class Ways:
    """
    Parameters
    ----------
    make : the Triton kernel, for the region's options and the names of the descriptors.
    typed : the kernel typed, or why it cannot be: text.
    arrays : those of a launch, by their paths.
    facts : of the arrays; those of the launch are added.
    is_described : whether the caller gives tensor descriptors.
    asked : what the fragment's ``specialise=`` says.

    Attributes
    ----------
    unspecialised : why the last launch, or compilation, had no warp that copies alone; "" where it had one.
    """

    def __init__(
        self,
        name: str,
        location: SourceLocation,
        make: Callable[[Mapping[str, Any], Sequence[str]], Any],
        typed: Callable[[], TypedFunction | str],
        arrays: Callable[[Sequence[Any]], Mapping[str, Any]],
        facts: Facts,
        asked: bool | None,
        is_described: bool = False,
    ) -> None:
        self._is_described = is_described
        self._name, self._location, self._make, self._facts, self._asked = name, location, make, facts, asked
        self._find_typed, self._arrays = typed, arrays
        self._typed: TypedFunction | str | None = None
        self._has_none = False  # loops with products
        self._plain: dict[str, Any] = {}
        self._planned: dict[tuple[int, int], Way | str] = {}
        self.unspecialised = ""

    def run(
        self,
        target: Callable[[], Target],
        options: Mapping[str, Any],
        arguments: Sequence[Any],
        run: Callable[[Any, list[Any]], Any],
    ) -> Any:
        """``run(kernel, more_arguments)`` by the way that is chosen, or by the other one where that is refused."""
        key = int(options.get("num_warps", 4)), int(options.get("num_stages") or STAGES)
        way = self._specialised(key) if self._may(target, options) else ""
        if isinstance(way, Way):
            try:
                made = run(way.kernel, describe_tiles(way.described, self._arrays(arguments)))
                self.unspecialised = ""
                return made
            except Exception as error:
                reason = refusal(error)
                if not reason or self._asked:
                    raise
                self._planned[key] = way = reason
        self.unspecialised = way
        return run(self.plain(way), [])

    def plain(self, reason: str = "") -> Any:
        """The kernel as any other; its report says the reason."""
        if reason not in self._plain:
            self._plain[reason] = self._make({"unplanned": reason} if reason else {}, [])
        return self._plain[reason]

    def _may(self, target: Callable[[], Target], options: Mapping[str, Any]) -> bool:
        if self._asked is False or self._has_none or options.get("num_ctas", 1) != 1:
            return False
        return bool(self._asked) or ((found := target()).backend == "cuda" and found.capability == HOPPER)

    def _specialised(self, key: tuple[int, int]) -> Way | str:
        if key not in self._planned:
            self._planned[key] = self._plan(*key)
        return self._planned[key]

    def _plan(self, warps: int, stages: int) -> Way | str:
        """The kernel, or why there is none; "" where that is not worth a word."""
        from tle_raw.adapters.cutile.specialise.plan import find_plan, has_products_in_loops
        from tle_raw.adapters.cutile.traced.order import operations_behind_barriers  # brings Triton

        if self._typed is None:
            try:
                self._typed = self._find_typed()
            except TLEError:  # which the other way raises where it is traced, with the place of the call
                self._has_none = True
                return ""
        if isinstance(self._typed, str):
            return self._not_planned(self._typed, worth="")
        if not has_products_in_loops(self._typed):
            self._has_none = True
            return self._not_planned("it has no loop with products", worth="")
        facts = replace(self._facts, warps=warps, stages=stages)
        try:
            plan = find_plan(self._typed, facts, operations_behind_barriers(self._typed.block))
        except Unfit as reason:
            return self._not_planned(str(reason))
        if plan.against and not self._asked:
            return plan.against
        if self._is_described and not self._asked:
            return "its arrays are tensor descriptors, and tiles come by the copy engine anyway"
        names = [each.descriptor for each in plan.described]
        kernel = self._make({"planned": facts, "descriptors": tuple(names)}, names)
        return Way(kernel, plan.described)

    def _not_planned(self, reason: str, worth: str | None = None) -> str:
        if self._asked:
            raise UntraceableError(
                f"no warp of `{self._name}` can copy alone: {reason}", hint="leave specialise= out"
            ).at(source=self._location)
        return reason if worth is None else worth
