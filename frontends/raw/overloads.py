"""A call of a function that has several fragments: the first whose types fit the arguments is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tle_raw.errors import OverloadError, RegionError, SourceLocation, TLEError
from tle_raw.fragments.fragment import Fragment
from tle_raw.fragments.overloaded import Overloaded
from tle_raw.frontends.call_site import call_site
from tle_raw.frontends.raw.call import bind_typed, call_bound
from tle_raw.regions.interpret import in_interpreter, interpreted_call_site


def call_overloaded(
    function: Overloaded, args: Sequence[Any], keywords: dict[str, Any], semantic: Any, generator: Any
) -> Any:
    """``function(*args, **keywords)`` inside a kernel.

    Raises
    ------
    RegionError : no kernel is running or traced.
    OverloadError : no overload takes the arguments; of a function that has one, what is wrong with them.
    """
    if semantic is None and not in_interpreter():
        raise RegionError(
            f"`{function.name}` is device code: it runs only inside a @triton.jit kernel",
        ).at(fragment=function.name)

    def site() -> SourceLocation | None:  # for errors: it is read from the builder's text
        return call_site(generator, semantic) if semantic is not None else interpreted_call_site()

    refusals: list[TLEError] = []
    for fragment in _fragments(function, site):
        try:
            assert fragment.signature is not None
            bound, given = bind_typed(fragment.signature, args, dict(keywords), semantic)
            function.accept(fragment, bound)
        except TLEError as error:
            refusals.append(error)
            continue
        return call_bound(fragment, bound, given, semantic, generator)
    if len(refusals) == 1:
        raise refusals[0].at(fragment=function.name, source=function.location, call_site=site())
    log = "\n".join(f"{fragment.signature}: {_told(error)}" for fragment, error in zip(function.fragments, refusals))
    raise OverloadError(f"none of the {len(refusals)} overloads of `{function.name}` takes the arguments", log=log).at(
        fragment=function.name, source=function.location, call_site=site()
    )


def _told(error: TLEError) -> str:
    """What is wrong with the arguments, and what came in the place of what the overload takes."""
    came = ", ".join(f"`{row.what}` is {row.got}" for row in error.table if row.differs)
    return f"{error.message}: {came}" if came else error.message


def _fragments(function: Overloaded, site: Callable[[], SourceLocation | None]) -> tuple[Fragment, ...]:
    try:
        return function.fragments
    except TLEError as error:
        error.at(fragment=function.name, call_site=site())
        raise
