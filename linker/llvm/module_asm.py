"""Assembly that a module carries as text beside its functions."""

from __future__ import annotations

import re

from tle_raw.linker.llvm.text import Module

# The backslash is first: those of the others' escapes stay as they are.
_USUAL = '\\"\n\t'
_UNUSUAL = re.compile(r"[^ -~]")
_LABEL = re.compile(r'(?:\\0A|")([A-Za-z_$][\w.$]*):')


def module_asm(assembly: str) -> str:
    r"""The line of LLVM IR that puts assembly text into a module: printable ones as they are, others as ``\0A``."""
    escaped = assembly
    for character in _USUAL:  # in every line of it: a regular expression took 34 times as long
        escaped = escaped.replace(character, _escape(character))
    escaped = _UNUSUAL.sub(lambda found: _escape(found[0]), escaped)
    return f'module asm "{escaped}"\n'


def _escape(character: str) -> str:
    return "".join(f"\\{byte:02X}" for byte in character.encode())


def defined_by_asm(module: Module) -> frozenset[str]:
    """The symbols that a module's assembly defines."""
    return frozenset(name for entity in module.of_kind("module") for name in _LABEL.findall(module.source(entity)))
