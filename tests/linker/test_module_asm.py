"""Assembly as a line of LLVM IR: what LLVM reads there is the assembly."""

from __future__ import annotations

import re

import pytest

from tle_raw.linker.llvm.module_asm import module_asm

pytestmark = pytest.mark.one_triton


def test_what_is_not_printable_and_what_ends_a_string_are_numbers():
    assert module_asm('\t.ascii "a\\5C"\n') == 'module asm "\\09.ascii \\22a\\5C5C\\22\\0A"\n'
    assert module_asm("\x00~\x7fé") == 'module asm "\\00~\\7F\\C3\\A9"\n'


def test_llvm_reads_every_character_as_it_was():
    llvm = pytest.importorskip("llvmlite.binding")
    text = "".join(map(chr, range(1, 0x180))) + "\n"
    with llvm.parse_assembly(module_asm(text), context=llvm.create_context()) as module:
        printed = re.findall(r'^module asm "(.*)"$', str(module), re.MULTILINE)
    lines = [re.sub(rb"\\(\\|[0-9A-F]{2})", _read, line.encode()) for line in printed]
    assert b"".join(line + b"\n" for line in lines) == text.encode()


def _read(escape: re.Match[bytes]) -> bytes:
    return b"\\" if escape[1] == b"\\" else bytes.fromhex(escape[1].decode())
