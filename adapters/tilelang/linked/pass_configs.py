"""The pass configuration that a TileLang object carries."""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.tilelang.tir_types import PrimFunc

_ATTRIBUTE = "tilelang_pass_configs"


def pass_configs_of(wrapped: Any, prim_func: PrimFunc) -> dict[str, Any]:
    """That of the PrimFunc itself, then that of the ``@tilelang.jit`` function or the compiled kernel around it."""
    found: dict[str, Any] = {}
    attributes = getattr(prim_func, "attrs", None)
    for given in (
        attributes[_ATTRIBUTE] if attributes is not None and _ATTRIBUTE in attributes else None,
        getattr(wrapped, "pass_configs", None),
    ):
        found |= {str(getattr(key, "value", key)): value for key, value in dict(given or {}).items()}
    return found
