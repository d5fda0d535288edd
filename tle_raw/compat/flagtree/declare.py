"""``dialect`` with FlagTree's options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tle_raw.errors import DialectError
from tle_raw.fragments.dialects import dialect as declare
from tle_raw.fragments.fragment import Fragment

# What says how FlagTree compiles and has no meaning here: its passes, and which compiler makes LLVM IR.
_OF_ITS_COMPILATION = ("pipeline", "deferred", "compiler", "target")


def dialect(*, name: str, **options: Any) -> Callable[[Callable[..., Any]], Fragment]:
    """FlagTree's ``@dialect(name="cuda", file=…, extern_func_name=…)`` and ``@dialect(name="mlir")``.

    Its options ``pipeline``, ``deferred``, ``compiler`` and ``target`` say how FlagTree compiles; a fragment is
    compiled here as ``tle_raw.dialect`` does, and they are passed over. The others are those of ``tle_raw.dialect``.

    Raises
    ------
    DialectError : an unknown dialect or option, or a library that is not linked in this release.
    """
    libraries: Sequence[str] = [options.pop(key) for key in ("library", "libs") if options.get(key)]
    if libraries:
        raise DialectError(
            f"library={libraries[0]!r} is not linked in this release of tle_raw",
            hint="its functions may stand in the fragment's own source",
        )
    kept = {key: value for key, value in options.items() if key not in _OF_ITS_COMPILATION}
    return declare(name, **kept)
