"""Give every operation of a pipelined loop its stage and its place in the body, and find what cannot be.

A step of the pipelined loop runs stage 0 of one iteration, stage 1 of the iteration before it, and so on. What an
operation needs must have run before: in an earlier stage, or in the same one and not later in the body. Of an iteration
before, a value may come from one stage later than the one that uses it: that is the same step, and there later stages
stand first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tle_raw.flir.loop_body import LoopBody, Need


class Place(NamedTuple):
    """When an operation runs: its stage, and the cluster of operations in the body that it stands in."""

    stage: int
    cluster: int


def place_operations(body: LoopBody, fixed: Mapping[int, Place], last: Place) -> dict[int, Place]:
    """The place of each operation of the body, by its number.

    What has no place runs in that of whatever needs it first. What nothing needs runs with the latest of what it needs
    itself, and what needs nothing either goes to ``last``.
    """
    places = dict(fixed)
    changed = True
    while changed:  # backwards through the body; what an iteration hands to the next may take more rounds
        changed = False
        for need in sorted(body.needs, key=lambda need: -need.user):
            if need.maker in fixed or need.maker == need.user or need.user not in places:
                continue
            place = places[need.user]
            if need.maker not in places or place < places[need.maker]:
                places[need.maker] = place
                changed = True
    for number in range(len(body.operations)):
        if number not in fixed:
            needs = (need for need in body.needs if need.user == number and need.maker in places)
            needed = [there for need in needs if (there := _earliest(need, places)) is not None]
            places[number] = max([*needed, places[number]] if number in places else needed, default=last)
    return places


def _earliest(need: Need, places: Mapping[int, Place]) -> Place | None:
    """The earliest place in which a value is there; None where it always is."""
    maker = places[need.maker]
    if not need.is_carried:
        return maker
    return Place(maker.stage - 1, maker.cluster + 1) if maker.stage else None


def broken_need(body: LoopBody, places: Mapping[int, Place]) -> Need | None:
    """A need that the places do not fulfil."""
    return next((need for need in body.needs if not _is_fulfilled(need, places)), None)


def _is_fulfilled(need: Need, places: Mapping[int, Place]) -> bool:
    maker, user = places[need.maker], places[need.user]
    if not need.is_carried:
        return maker <= user
    if maker.stage != user.stage + 1:
        return maker.stage <= user.stage
    return maker.cluster < user.cluster or (maker.cluster == user.cluster and need.maker < need.user)
