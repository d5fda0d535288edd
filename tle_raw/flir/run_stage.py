"""Run the passes of one stage from a pipeline's tuple: leave out what is disabled, check promises, show results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from tle_raw.errors import MissingPatternError, Row
from tle_raw.flir.pass_value import Pass
from tle_raw.flir.print_after import print_after
from tle_raw.linker.mlir.pause_collector import collector_paused


class State(Protocol):
    """One compilation between its passes.

    Beside ``text`` it has a method for each pass, named like it. The method calls the pass's function, and returns how
    often that found its pattern (1 for one that looks for none), or None where the kernel does not ask for the pass.
    """

    def text(self) -> str:
        """The module as it is now."""


def run_stage(pipeline: Sequence[Pass], stage: str, state: State, disabled: Collection[str] = ()) -> None:
    """Run the passes of ``stage`` in order.

    Parameters
    ----------
    disabled : names of passes that exist for speed, and are left out.

    Raises
    ------
    MissingPatternError : a pass found less of its pattern than the kernel promised it.
    """
    wanted = (each for each in pipeline if each.stage == stage and not (each.for_speed and each.name in disabled))
    with collector_paused():
        for each in wanted:
            found = method_of(state, each)()
            if found is None:
                continue
            if found < each.expects:
                raise _missing(each, found)
            if each.can_be_shown:
                print_after(each.name, state.text)


def method_of(state: object, each: Pass) -> Callable[[], int | None]:
    """The method by which a state runs a pass."""
    method: Callable[[], int | None] = getattr(state, each.name.replace("-", "_"))
    return method


def _missing(each: Pass, found: int) -> MissingPatternError:
    speed = "it exists for speed only: TLE_RAW_DISABLE_PASSES=" + each.name + " compiles the kernel without it; "
    return MissingPatternError(
        f"the pass `{each.name}` did not find what the kernel promised it",
        table=[Row(f"found by tle_raw/{each.file}", f"at least {each.expects}", str(found))],
        hint=f"{speed if each.for_speed else ''}please report it with the kernel and the versions of `tle-raw doctor`",
    )
