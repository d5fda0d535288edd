"""``tle-raw pack init``: a first manifest from a header, for its author to go on with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tle_raw.adapters.cpp.declarations import CppFunction, functions
from tle_raw.errors import FragmentSourceError
from tle_raw.libraries.packing.cxx_header import result_type, written_type
from tle_raw.libraries.packing.manifest import FORMAT


def first_manifest(header: Path, name: str | None = None) -> str:
    """The text of a manifest with each ``__device__`` function of a header that can be declared as it is.

    Of a function of numbers each number is an ``Element``; other numbers are ``Scalar``, pointers ``Pointer``, which
    is ``InOut`` where it is not const. What stands in comments above a function is its ``doc``. Templates and types
    that the text does not tell are left as comments.

    Raises
    ------
    FragmentSourceError : the header cannot be read, or declares no device function.
    """
    try:
        text = header.read_text("utf-8", "surrogateescape")
    except OSError as error:
        raise FragmentSourceError(f"{header} cannot be read: {error.strerror}") from None
    found = [f for f in functions(text, str(header)) if not f.is_kernel]
    found = [f for f in found if f.is_device] or [f for f in found if "__host__" not in f.specifiers]
    if not found:
        raise FragmentSourceError(f"{header} declares no device function", hint="functions are marked __device__")
    return "\n".join([*_head(name or _name_of(header), header), *_functions(found, text.splitlines())]) + "\n"


def _name_of(header: Path) -> str:
    name = re.sub(r"\W", "_", header.stem)
    return name if name.isidentifier() and not name.startswith("_") else f"library_{name.strip('_')}"


def _head(name: str, header: Path) -> Iterator[str]:
    yield from (
        f"format = {FORMAT}",
        "",
        "[library]",
        f'name = "{name}"',
        'version = "0.1.0"',
        'summary = ""',
        'architectures = ["cpu", "cuda:80", "cuda:90"]',
        f"source = {_quoted(header.name)}",
    )


def _functions(found: list[CppFunction], lines: list[str]) -> Iterator[str]:
    by_name: dict[str, list[CppFunction]] = {}
    for function in found:
        same = by_name.setdefault(function.name, [])
        if not any(f.types == function.types and f.scope == function.scope for f in same):
            same.append(function)
    for name, several in by_name.items():
        written = [(f, _signature(f)) for f in several]
        known = [(f, s) for f, s in written if s]
        yield from (f"\n# `{f}` in line {f.line} needs a signature from you: {_why(f)}" for f, s in written if not s)
        if not known:
            continue
        yield from ("", "[[function]]", f'name = "{name}"', f"doc = {_quoted(_doc(known[0][0], lines))}")
        for function, signature in known:
            yield from ([] if len(known) == 1 else ["", "[[function.overload]]"])
            yield f"signature = {_quoted(signature)}"
            symbol = function.qualified
            if len(known) > 1:
                symbol += f"({', '.join(function.types)})"
            if symbol != name:
                yield f"symbol = {_quoted(symbol)}"


def _signature(function: CppFunction) -> str:
    """Empty where it does not follow from the text."""
    result = result_type(function)
    types = [written_type(p.type) for p in function.parameters]
    if function.template is not None or any(t.dtype is None or t.is_reference for t in types):
        return ""
    if result is not None and not result.is_number:
        return ""
    kind = "Element" if result is not None and types and all(t.is_number for t in types) else "Scalar"
    parameters = []
    for index, (parameter, type_) in enumerate(zip(function.parameters, types)):
        pointer = f"Pointer[{type_.dtype}]"
        pointer = pointer if type_.is_const else f"InOut[{pointer}]"
        parameters.append(f"{parameter.name or f'arg{index}'}: {pointer if type_.is_pointer else f'{kind}[{type_.dtype}]'}")
    return f"({', '.join(parameters)})" + (f" -> {kind}[{result.dtype}]" if result else "")


def _why(function: CppFunction) -> str:
    if function.template is not None:
        return "it is a template; `values` says what to pack, `symbol` its arguments"
    unknown = [p.type for p in function.parameters if (t := written_type(p.type)).dtype is None or t.is_reference]
    return f"`{', '.join(unknown) or 'its result'}` may be a tile, or a type of its own"


def _doc(function: CppFunction, lines: list[str]) -> str:
    """The comment right above it."""
    index = (function.extent[0][0] if function.extent else function.line) - 2
    found: list[str] = []
    while 0 <= index < len(lines) and re.match(r"\s*(//|/?\*)", lines[index]):
        found.insert(0, re.sub(r"^\s*(///?!?|/\*+!?|\*/|\*)\s?|\s*\*/\s*$", "", lines[index]).strip())
        index -= 1
    return " ".join(filter(None, found))


def _quoted(text: str) -> str:
    escaped = text.encode("utf-8", "replace").decode().replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if ord(c) >= 32 and ord(c) != 127 else f"\\u{ord(c):04x}" for c in escaped) + '"'
