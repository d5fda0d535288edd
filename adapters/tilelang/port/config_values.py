"""Arguments that are no plain values: config objects, dtypes, members of the script, as values and as Python text."""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from tle_raw.adapters.tilelang.port.python_text import literal
from tle_raw.errors import DialectError


def evaluated(text: Any, module: ModuleType) -> Any:
    """What ``--arguments config=Config(M=64)`` says, in the script's own names; plain words stay words.

    Raises
    ------
    DialectError : it fails.
    """
    if not isinstance(text, str) or not any(sign in text for sign in ".([{"):
        return text
    import torch

    try:
        names = {"torch": torch, "SimpleNamespace": types.SimpleNamespace, **vars(module)}
        return eval(text, names)
    except Exception as error:
        if "(" not in text:
            return text
        raise DialectError(f"--arguments …={text}: {type(error).__name__}: {error}") from error


def spelled(value: Any, module: ModuleType, name: str) -> str | None:
    """Python text for a value, where ``name`` is the script's module; None where there is none."""
    plain = literal(value)
    if plain is not None and type(value) in (str, int, float, bool, tuple, list, type(None)):
        return plain

    def inner(each: Any) -> str | None:
        return spelled(each, module, name)

    held = next((n for n, v in vars(module).items() if v is value and not n.startswith("__")), None)
    if held is not None:
        return f"{name}.{held}"
    if type(value).__module__ == "torch" and type(value).__name__ == "dtype":
        return str(value)
    if isinstance(value, str):
        return literal(str(value))
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        items = [inner(v) for v in value]
        known = [item for item in items if item is not None]
        ends = "()" if isinstance(value, tuple) else "[]"
        comma = "," * (len(known) == 1 and isinstance(value, tuple))
        return f"{ends[0]}{', '.join(known)}{comma}{ends[1]}" if len(known) == len(items) else None
    if type(value) is dict:
        pairs = [(inner(k), inner(v)) for k, v in value.items()]
        return None if any(None in pair for pair in pairs) else f"{{{', '.join(f'{k}: {v}' for k, v in pairs)}}}"
    return _of_object(value, module, name)


def _of_object(value: Any, module: ModuleType, name: str) -> str | None:
    kind = type(value)
    if hasattr(value, "item") and kind.__module__ == "numpy":
        return literal(value.item())
    class_name = next((n for n, v in vars(module).items() if v is kind), None)
    if isinstance(value, enum.Enum):
        return f"{name}.{class_name}.{value.name}" if class_name else None
    fields: Mapping[str, Any] | None = None
    if kind is types.SimpleNamespace:
        head, fields = "SimpleNamespace", vars(value)
    elif class_name and dataclasses.is_dataclass(value):
        head, fields = (
            f"{name}.{class_name}",
            {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init},
        )
    elif class_name and isinstance(value, tuple) and hasattr(value, "_asdict"):
        head, fields = f"{name}.{class_name}", value._asdict()
    if fields is None:
        return None
    words = {n: spelled(v, module, name) for n, v in fields.items()}
    return None if None in words.values() else f"{head}({', '.join(f'{n}={w}' for n, w in words.items())})"
