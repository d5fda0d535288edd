"""A module's text between two stages, which remembers the module: the next stage need not read it again."""

from __future__ import annotations

from typing import Any


class ModuleText(str):
    """What Triton stores of a module, and the ``ir.Module`` whose text it is. The next stage may change that one."""

    module: Any


def text_of(module: Any) -> ModuleText:
    """A module's text, without locations."""
    text = ModuleText(module)
    text.module = module
    return text


def module_or_text(text: str) -> Any:
    """The module, where ``text`` remembers it; else the text, as where a user gave one in its place."""
    return text.module if isinstance(text, ModuleText) else text
