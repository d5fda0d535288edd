"""Assembly that a module carries as text beside its functions."""

from __future__ import annotations

import re

from tle_raw.linker.llvm.text import Module

_LABEL = re.compile(r'(?:\\0A|")([A-Za-z_$][\w.$]*):')


def module_asm(assembly: str) -> str:
    r"""The line of LLVM IR that puts assembly text into a module: printable ones as they are, others as ``\0A``."""
    escaped = re.sub(rb"[^ !#-\[\]-~]", lambda match: b"\\%02X" % match[0][0], assembly.encode()).decode()
    return f'module asm "{escaped}"\n'


def defined_by_asm(module: Module) -> frozenset[str]:
    """The symbols that a module's assembly defines."""
    return frozenset(name for entity in module.of_kind("module") for name in _LABEL.findall(module.source(entity)))
