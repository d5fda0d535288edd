"""All passes of FLIR, and what the knobs take of their names.

There is one tuple for each pipeline, in the order in which its passes run. ``run_stage`` runs it. The targets hand over
theirs: ``knobs.print_after``, ``knobs.disable_passes``, ``tle-raw inspect --passes`` and the tests read the same
tuples. The names are part of the interface.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from tle_raw.errors import ToolchainError
from tle_raw.flir.pass_value import HasPasses, Pass
from tle_raw.registry import find_target, target_names

ALL = "all"

# After Triton's own `ttir` stage, on every target, for kernels with regions.
DUMP = (
    Pass(
        "show-regions",
        "tle",
        "flir/dialect/show_regions.py",
        "show_regions",
        'the kernel\'s Triton IR with its regions as tle.dsl_region: kernel.asm["tle"]',
    ),
)


@cache
def pipelines() -> Mapping[str, tuple[Pass, ...]]:
    """Each with the kernels that it is for. Targets that this process registers later are not among them."""
    found: dict[str, tuple[Pass, ...]] = {"Kernels with regions, all targets": DUMP}
    # What joins Triton's own stages stands first.
    for target in sorted(_targets(), key=lambda target: not hasattr(target, "add_stages")):
        found.update(target.pipelines())
    return found


def _targets() -> Iterator[HasPasses]:
    for name in target_names():
        try:
            target = find_target(name)
        except ToolchainError:  # what cannot be imported compiles nothing either
            continue
        if isinstance(target, HasPasses):
            yield target


def every_pass() -> tuple[Pass, ...]:
    """The passes of all pipelines, in order."""
    return tuple(each for pipeline in pipelines().values() for each in pipeline)


@cache
def shown() -> tuple[str, ...]:
    """The names that ``knobs.print_after`` takes."""
    return tuple(dict.fromkeys(each.name for each in every_pass() if each.can_be_shown))


@cache
def for_speed() -> tuple[str, ...]:
    """The names that ``knobs.disable_passes`` takes."""
    return tuple(dict.fromkeys(each.name for each in every_pass() if each.for_speed))


# What the knobs take. The targets are asked once somebody sets one.


def shown_names(value: object) -> str:
    words = _own_names(_words(value))
    if any(word != ALL and word not in shown() for word in words):
        raise ValueError
    return ",".join(words)


def disabled_names(value: object) -> str:
    words = _own_names(_words(value))
    if any(word not in for_speed() for word in words):
        raise ValueError
    # equal sets are equal texts, and equal keys
    return ",".join(name for name in for_speed() if name in words) if words else ""


@cache
def other_names() -> Mapping[str, tuple[str, ...]]:
    """By the names that passes also have: those that they are listed by, one or more for each target."""
    found: dict[str, dict[str, None]] = {}
    for each in every_pass():
        for other in each.also:
            found.setdefault(other, {})[each.name] = None
    return {other: tuple(names) for other, names in found.items()}


def _own_names(words: list[str]) -> list[str]:
    """Each pass by the name that it is listed by."""
    if not words or words == [ALL]:
        return words
    names = [name for word in words for name in other_names().get(word, (word,))]
    return list(dict.fromkeys(names))


def _words(value: object) -> list[str]:
    if not isinstance(value, str):
        raise ValueError
    return [word.strip() for word in value.split(",")] if value.strip() else []


def expected_shown() -> str:
    """What an error of the knob says was expected."""
    others = ", ".join(other_names())
    return f"`{ALL}`, or names with commas between them: {', '.join(shown())}; also {others}"


def expected_disabled() -> str:
    """What an error of the knob says was expected."""
    return f"names, with commas between them, of passes that exist for speed: {', '.join(for_speed())}"
