"""Rewrite the work on tiles as loops over vectors."""

from __future__ import annotations

from typing import Any


def vectorise(module: Any, *, vector_bytes: int) -> None:
    """Rewrite every ``linalg.generic`` that can be: for now none, the scalar loops stay."""
