"""``tle-raw pack init``: a first manifest from a header, for its author to go on with."""

from __future__ import annotations

import keyword
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tle_raw.adapters.cpp.declarations import CppFunction, functions
from tle_raw.errors import FragmentSourceError
from tle_raw.fragments.dialects import SUFFIXES
from tle_raw.libraries.packing.cxx_header import macros_for, result_type, without_macros, written_type
from tle_raw.libraries.packing.doc_comment import doc_above
from tle_raw.libraries.packing.manifest import FORMAT


def first_manifest(header: Path, name: str | None = None, folder: Path | None = None) -> str:
    """The text of a manifest with each ``__device__`` function of a header that can be declared as it is.

    Of a function of numbers each number is an ``Element``; other numbers are ``Scalar``, pointers ``Pointer``, which
    is ``InOut`` where it is not const. What stands in comments above a function is its ``doc``. Templates and types
    that the text does not tell are left as comments. ``folder`` is where the manifest will stand, by default the
    header's.

    Raises
    ------
    FragmentSourceError : the header cannot be read, or declares no device function.
    """
    try:
        text = header.read_text("utf-8", "surrogateescape")
    except OSError as error:
        raise FragmentSourceError(f"{header} cannot be read: {error.strerror}") from None
    macros = macros_for(header, text)
    found = [without_macros(f, macros) for f in functions(text, str(header)) if not f.is_kernel]
    found = [f for f in found if f.is_device] or [f for f in found if "__host__" not in f.specifiers]
    if not found:
        raise FragmentSourceError(f"{header} declares no device function", hint="functions are marked __device__")
    head = _head(name or _name_of(header), header, folder or header.parent)
    return "\n".join([*head, *_functions(found, text.splitlines())]) + "\n"


def _name_of(header: Path) -> str:
    name = re.sub(r"\W", "_", header.stem)
    return name if name.isidentifier() and not name.startswith("_") else f"library_{name.strip('_')}"


def _head(name: str, header: Path, folder: Path) -> Iterator[str]:
    yield from (
        f"format = {FORMAT}",
        "",
        "[library]",
        f'name = "{name}"',
        'version = "0.1.0"',
        'summary = ""',
        'architectures = ["cpu", "cuda:80", "cuda:90"]',
        f"source = {_quoted(_source(header, folder))}",
    )
    if header.suffix not in SUFFIXES:
        yield 'dialect = "cuda"'


def _source(header: Path, folder: Path) -> str:
    """As the manifest in ``folder`` names it; a file of an installed package by the package."""
    relative = os.path.relpath(header.absolute(), folder.absolute())
    if not relative.startswith(".."):
        return relative
    for place in map(Path, filter(None, sys.path)):
        if header.absolute().is_relative_to(place) and "site-packages" in place.parts:
            return f"package:{header.absolute().relative_to(place)}"
    return relative


def _functions(found: list[CppFunction], lines: list[str]) -> Iterator[str]:
    by_name: dict[str, dict[str, CppFunction]] = {}
    for function in found:
        signature = _signature(function)
        same = by_name.setdefault(_python_name(function.name), {})
        if not signature:
            yield f"\n# `{function}` in line {function.line} needs a signature from you: {_why(function)}"
        elif signature not in same:
            same[signature] = function
        elif same[signature].qualified != function.qualified or same[signature].types != function.types:
            yield f"\n# `{function}` in line {function.line} takes the same as `{same[signature]}`, which is declared"
    for name, known in by_name.items():
        if not known:
            continue
        doc = next(filter(None, (_doc(f, lines) for f in known.values())), "")
        yield from ("", "[[function]]", f'name = "{name}"', f"doc = {_quoted(doc)}")
        for signature, function in known.items():
            yield from ([] if len(known) == 1 else ["", "[[function.overload]]"])
            yield f"signature = {_quoted(signature)}"
            symbol = function.qualified
            if len(known) > 1:
                symbol += f"({', '.join(function.types)})"
            if symbol != name:
                yield f"symbol = {_quoted(symbol)}"


def _python_name(name: str) -> str:
    """A name that Python, and a library, can have."""
    plain = name.lstrip("_") or name
    plain = plain if plain.isidentifier() else f"f{plain}"
    return f"{plain}_" if keyword.iskeyword(plain) else plain


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
        name = f"{parameter.name}_" if keyword.iskeyword(parameter.name) else parameter.name or f"arg{index}"
        parameters.append(f"{name}: {pointer if type_.is_pointer else f'{kind}[{type_.dtype}]'}")
    return f"({', '.join(parameters)})" + (f" -> {kind}[{result.dtype}]" if result else "")


def _why(function: CppFunction) -> str:
    if function.template is not None:
        return "it is a template; `values` says what to pack, `symbol` its arguments"
    unknown = [p.type for p in function.parameters if (t := written_type(p.type)).dtype is None or t.is_reference]
    if "..." in unknown:
        return "it takes any number of arguments"
    if not unknown:
        result = result_type(function)
        return f"its result, `{result.text if result else ''}`, is no number"
    return f"`{', '.join(unknown)}` may be a tile, or a type of its own"


def _doc(function: CppFunction, lines: list[str]) -> str:
    return doc_above(lines, function.extent[0][0] if function.extent else function.line)


def _quoted(text: str) -> str:
    escaped = text.encode("utf-8", "replace").decode().replace("\\", "\\\\").replace('"', '\\"')
    plain = "".join(c if (ord(c) >= 32 and ord(c) != 127) or c == "\n" else f"\\u{ord(c):04x}" for c in escaped)
    return f'"""\n{plain}\n"""' if "\n" in plain else f'"{plain}"'
