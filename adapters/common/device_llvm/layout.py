"""Refuses modules that were made for another target than NVIDIA's 64-bit GPUs."""

from __future__ import annotations

import re

from tle_raw.adapters.common.device_llvm.lines import location_at
from tle_raw.errors import Context, LinkError, Row, SourceLocation, UnsupportedFeatureError
from tle_raw.linker.llvm.references import reachable, references
from tle_raw.linker.llvm.text import Entity, Module, unreadable

TRIPLE = "nvptx64-nvidia-cuda"
# Types and their ABI alignments in bits, which are the same in every LLVM's layout of this target.
_ALIGNMENTS = {
    "i": {1: 8, 8: 8, 16: 16, 32: 32, 64: 64, 128: 128, 256: 256},
    "f": {16: 16, 32: 32, 64: 64, 128: 128},
    "v": {16: 16, 32: 32, 64: 64, 128: 128},
}
_OTHERS = "aarch64 amdgcn arm bpf dx hexagon loongarch mips ppc r600 riscv s390 spv ve wasm x86 xcore"
_OTHER_PROCESSORS = tuple(f"llvm.{name}." for name in _OTHERS.split())
# Address spaces whose pointers some layouts shorten: shared, constant, local, and the tensor memory of newer GPUs.
_SHORT = (3, 4, 5, 6, 7, 101)


def check_target(module: Module, start: SourceLocation) -> None:
    """A module says ``nvptx64`` and its data layout, or nothing.

    Raises
    ------
    LinkError : it was made for another target.
    """
    for entity in module.of_kind("target"):
        tokens = module.header(entity)
        if [token.kind for token in tokens] != ["word", "word", "punctuation", "string"]:
            raise unreadable(
                module.text, entity.start, '`target triple = "..."` or `target datalayout = "..."` expected'
            )
        what, value = tokens[1].text, tokens[3].text.strip('"')
        if what == "triple" and value and not value.startswith("nvptx64"):
            raise _refusal(
                f"the module was made for {value}", Row("target triple", TRIPLE, value), module, entity, start
            )
        if what == "datalayout":
            wrong = [part for part in value.split("-") if part and not _fits(part)]
            if wrong:
                raise _refusal(
                    f"the module's data layout is not that of {TRIPLE}",
                    Row("target datalayout", "e-i64:64-i128:128-v16:16-v32:32-n16:32:64", value),
                    module,
                    entity,
                    start,
                    ", ".join(wrong),
                )


def check_intrinsics(module: Module, symbol: str, start: SourceLocation) -> None:
    """The function reaches no other processor's instructions. LLVM ends its process over them.

    Raises
    ------
    UnsupportedFeatureError : it does; the error names the first.
    """
    reached = reachable(references(module), [symbol])
    for entity in module.of_kind("declare"):
        if entity.name in reached and entity.name.startswith(_OTHER_PROCESSORS):
            raise UnsupportedFeatureError(
                f"`{entity.name}` is an instruction of another processor",
                hint="intrinsics of NVIDIA's GPUs are called llvm.nvvm.…",
                context=Context(source=location_at(module.text, start, entity.start)),
            )


def _fits(part: str) -> bool:
    if part == "e" or (part[0] == "n" and re.fullmatch(r"n\d+(:\d+)*", part)):
        return True
    pointer = re.fullmatch(r"p(\d*):(\d+)(?::.*)?", part)
    if pointer:
        bits = int(pointer[2])
        return bits == 64 or (bits == 32 and int(pointer[1] or 0) in _SHORT)
    scalar = re.fullmatch(r"([ifv])(\d+):(\d+)(?::\d+)?", part)
    return scalar is not None and _ALIGNMENTS[scalar[1]].get(int(scalar[2])) == int(scalar[3])


def _refusal(
    message: str, row: Row, module: Module, entity: Entity, start: SourceLocation, parts: str = ""
) -> LinkError:
    return LinkError(
        message + (f": {parts}" if parts else ""),
        table=[row],
        hint=f"compile it for {TRIPLE}, for example with clang --target={TRIPLE}; a module may also name no target",
        context=Context(source=location_at(module.text, start, entity.start)),
    )
