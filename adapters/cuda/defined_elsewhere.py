"""A program of several files: nvcc's linker finds in another one what a kernel's own file declares only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from tle_raw.adapters.cpp.declarations import functions
from tle_raw.errors import UnresolvedSymbolError

# So many files are looked at: an error may cost no more than a moment.
_MOST = 400
_SUFFIXES = (".cu", ".cuh")


def name_definer(error: UnresolvedSymbolError, folders: Iterable[Path], text: str) -> None:
    """The error's hint says which file of these folders defines what is missing, and how it is compiled along."""
    names = [row.what.partition("(")[0].rpartition("::")[2] for row in error.table]
    found = {name: file for name in names if (file := next(_definers(name, folders, text), None))}
    if found:
        files = list(dict.fromkeys(found.values()))
        said = ", ".join(f"`{name}` is defined in {file}" for name, file in found.items())
        flags = [part for file in files for part in ("-include", str(file))]
        error.hint = f"{said}: flags={flags!r} compile that along"


def _definers(name: str, folders: Iterable[Path], text: str) -> Iterator[Path]:
    files = (file for folder in _with_sources(folders) for file in sorted(folder.glob("*")) if file.suffix in _SUFFIXES)
    for file in islice(files, _MOST):
        content = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
        if name in content and content != text and _defines(content, name):
            yield file


def _with_sources(folders: Iterable[Path]) -> Iterable[Path]:
    """The folders, and for ``include`` the ``src`` beside it, where what its headers declare is often defined."""
    named = list(dict.fromkeys(folders))
    beside = (folder.parent / "src" for folder in named if folder.name in ("include", "inc"))
    return dict.fromkeys((*named, *beside))


def _defines(content: str, name: str) -> bool:
    kind, word = r"\b__(?:constant|device|managed)__\b", re.escape(name)
    variables = re.finditer(rf"^[^\n#/*;]*{kind}[^;{{}}()]*\b{word}\b\s*[\[=;{{]", content, re.MULTILINE)
    if any(not re.search(r"\bextern\b", said[0]) for said in variables):
        return True
    if any(f.name == name and f.is_definition and f.is_device for f in functions(content)):
        return True
    # a class's constructor has no type before its name
    return bool(re.search(rf"\b__device__\b[^;{{}}()]*\b{word}\s*::\s*{word}\s*\([^;{{}}]*\)[^;]*?{{", content))
