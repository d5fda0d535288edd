"""All passes of FLIR, and what the knobs take of their names.

There is one tuple for each pipeline, in the order in which its passes run. ``run_stage`` runs it.
``knobs.print_after``, ``knobs.disable_passes``, ``tle-raw inspect --passes`` and the tests read the same tuples. The
names are part of the interface.
"""

from __future__ import annotations

from collections.abc import Iterable

from tle_raw.flir.cpu.passes import CPU
from tle_raw.flir.nvidia.passes import NVIDIA, NVIDIA_TRACED
from tle_raw.flir.pass_value import Pass

ALL = "all"

# After Triton's own `ttir` stage, on every target, for kernels with regions.
VIEW = (
    Pass(
        "show-regions",
        "tle",
        "flir/dialect/show_regions.py",
        "show_regions",
        'the kernel\'s Triton IR with its regions as tle.dsl_region: kernel.asm["tle"]',
    ),
)

# Each with the kernels that it is for.
PIPELINES = {
    "Kernels with regions, all targets": VIEW,
    "Kernels with traced regions only, cuda": NVIDIA_TRACED,
    "Kernels with linked regions, cuda": NVIDIA,
    "All kernels, cpu": CPU,
}


def every_pass() -> Iterable[Pass]:
    """The passes of all pipelines, in order."""
    return (each for pipeline in PIPELINES.values() for each in pipeline)


SHOWN = tuple(dict.fromkeys(each.name for each in every_pass() if each.can_be_shown))
FOR_SPEED = tuple(dict.fromkeys(each.name for each in every_pass() if each.for_speed))


# What the knobs take. An error of theirs shows the docstring as what was expected.


def shown_names(value: object) -> str:
    words = _words(value)
    if any(word != ALL and word not in SHOWN for word in words):
        raise ValueError
    return ",".join(words)


def disabled_names(value: object) -> str:
    words = _words(value)
    if any(word not in FOR_SPEED for word in words):
        raise ValueError
    return ",".join(name for name in FOR_SPEED if name in words)  # equal sets are equal texts, and equal keys


def _words(value: object) -> list[str]:
    if not isinstance(value, str):
        raise ValueError
    return [word.strip() for word in value.split(",")] if value.strip() else []


shown_names.__doc__ = f"`{ALL}`, or names with commas between them: {', '.join(SHOWN)}"
disabled_names.__doc__ = f"names, with commas between them, of passes that exist for speed: {', '.join(FOR_SPEED)}"
