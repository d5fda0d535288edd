"""Which of its parameters a function gives back: alone, or in the fields of what it returns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tle_raw.linker.llvm.parameter_words import parameter_words
from tle_raw.linker.llvm.text import Entity, Module

# The numbers of the fields that lead to a value; () is the whole result.
Path = tuple[int, ...]

_VALUE = r'%(?:[-\w$.]+|"[^"]*")'
_TYPE = r"(?:ptr(?: addrspace\(\d+\))?|[^,]*)"
# LLVM prints an instruction a line.
_RETURN = re.compile(rf"^ *ret (?P<type>.*?) ?(?P<value>{_VALUE}|\S+)(?:, ![^\n]*)?$", re.MULTILINE)
_INSERT = re.compile(
    rf"^ *(?P<result>{_VALUE}) = insertvalue .*?(?P<base>{_VALUE}|undef|poison|zeroinitializer), "
    rf"(?P<type>{_TYPE}) (?P<value>{_VALUE}|[^\s,]+), (?P<path>\d+(?:, \d+)*)(?:, ![^\n]*)?$",
    re.MULTILINE,
)
_CAST = re.compile(rf"^ *(?P<result>{_VALUE}) = addrspacecast ptr[^%\n]* (?P<value>{_VALUE}) to ptr", re.MULTILINE)


def returned_parameters(module: Module, function: Entity) -> dict[Path, int | None]:
    """The parameter that each pointer in a function's result is; None for one that is no parameter.

    A result that is a number is ``{(): None}``, one that is nothing ``{}``. Where the function returns in several
    places they must agree, else the pointer is none of its parameters.
    """
    body = module.text[function.body : function.end]
    names = {
        words[-1] if words[-1].startswith("%") else f"%{number}": number
        for number, words in enumerate(parameter_words(module, function))
    }
    for match in _CAST.finditer(body):
        if match["value"] in names:
            names[match["result"]] = names[match["value"]]
    inserted = {match["result"]: match for match in _INSERT.finditer(body)}
    found: dict[Path, int | None] | None = None
    for match in _RETURN.finditer(body):
        if (match["type"], match["value"]) == ("", "void"):
            continue
        here = dict(_pointers(match["type"], match["value"], inserted, names))
        if found is None:
            found = here
        else:
            found = {path: n if here.get(path) == n else None for path, n in (here | found).items()}
    return found or {}


def _pointers(
    type_: str, value: str, inserted: Mapping[str, re.Match[str]], names: Mapping[str, int]
) -> Iterator[tuple[Path, int | None]]:
    if type_.startswith("ptr") or value not in inserted:
        yield (), names.get(value)
        return
    while value in inserted:  # from the last field to the first; each path is met once
        match = inserted[value]
        if match["type"].startswith("ptr"):
            yield tuple(map(int, match["path"].split(", "))), names.get(match["value"])
        value = match["base"]
