"""The front end as fragments know it: ``tle_raw.fragments.frontend`` says what it offers."""

from __future__ import annotations

from tle_raw.fragments import generated_kernels, watch
from tle_raw.fragments.generated_code import source_of, stand_in
from tle_raw.frontends.raw.call import call_fragment
from tle_raw.frontends.raw.overloads import call_overloaded
from tle_raw.regions import interpret, stages

__all__ = ["call_fragment", "call_overloaded", "install", "source_of", "stand_in"]


def install() -> None:
    """Put this package's hooks into Triton's slots. Idempotent."""
    stages.install()
    watch.install()
    interpret.install()
    generated_kernels.install()
