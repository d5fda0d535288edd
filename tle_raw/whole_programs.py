"""``tle_raw.compile``: a whole kernel of tiles, of whichever dialect, for a target that compiles it without Triton."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tle_raw.errors import DialectError
from tle_raw.fragments.adapter import SelfDescribing
from tle_raw.registry import adapter_names, find_adapter, find_target, target_names
from tle_raw.tile_program import CompilesTilePrograms, ReadsTilePrograms


def compile(
    source: object,
    target: str,
    *,
    dialect: str | None = None,
    arguments: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Compile a whole kernel for a target that is not Triton's.

    Parameters
    ----------
    source : a TileLang PrimFunc, or with ``dialect="tilelang"`` a function that builds one.
    target : "tenstorrent".
    arguments : of the function that builds it: ``dict(M=1024)``.
    options : the target's own, see its page.

    Returns
    -------
    What the target makes of it; for "tenstorrent" a ``MetaliumProgram``, of five files.

    Raises
    ------
    DialectError : no dialect takes the source, or the target compiles no whole kernels, or an unknown option.
    UnsupportedFeatureError : the kernel does what the target does not take; by name, at the user's line.
    """
    backend = find_target(target)
    if not isinstance(backend, CompilesTilePrograms):
        others = [name for name in target_names() if isinstance(find_target(name), CompilesTilePrograms)]
        raise DialectError(
            f"target {target!r} compiles kernels of Triton, with fragments inside",
            hint=f"whole kernels are compiled for {', '.join(others)}; `fragment(...).as_kernel()` makes one of Triton",
        )
    program = _reader(source, dialect).tile_program(source, arguments or {})
    return backend.compile_program(program, options)


def _reader(source: object, dialect: str | None) -> ReadsTilePrograms:
    for name in [dialect] if dialect else adapter_names():
        adapter = find_adapter(name)
        known = isinstance(adapter, SelfDescribing) and adapter.takes(source, dialect is not None)
        if known and isinstance(adapter, ReadsTilePrograms):
            return adapter
    raise DialectError(
        f"no dialect reads {type(source).__name__} as a whole kernel of tiles",
        hint='TileLang\'s PrimFuncs are read; of a function that builds one say dialect="tilelang"',
    )
