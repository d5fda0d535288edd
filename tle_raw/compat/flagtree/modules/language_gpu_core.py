"""``triton.experimental.tle.language.gpu.core``: where FlagTree's own files import the functions from."""

from typing import Any

from tle_raw.compat.flagtree.modules import language_gpu


def __getattr__(name: str) -> Any:
    """Those of ``tle.gpu``."""
    return getattr(language_gpu, name)
