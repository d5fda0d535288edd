"""The files of a packed library: what stands in them, and how they are read.

library.json            name, version, one entry a function with its text, its signatures and the digest of its file
functions/<name>.json   one entry a piece of code: what it was compiled for, and the digest of its file
code/<digest>.ll        device code as LLVM IR, one function with what it calls
fitted/*.ll             what kernels for GPUs link of it: see ``fitted.py``
runtime/<name>.ll       for code for the CPU: the runtime of thread blocks, as LLVM IR
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tle_raw.errors import LibraryError

FORMAT = 1
INDEX, FUNCTIONS, CODE = "library.json", "functions", "code"
UPDATE = "update tle_raw: pip install -U tle_raw"


@dataclass(frozen=True)
class PackedFunction:
    """What the index says of one function: enough to list it, not to call it."""

    name: str
    doc: str
    signatures: tuple[str, ...]
    sha256: str

    @property
    def file(self) -> str:
        """Where the rest stands."""
        return f"{FUNCTIONS}/{self.name}.json"


@dataclass(frozen=True)
class PackedIndex:
    """``library.json``. ``digest`` is its own: it holds those of the functions' files, and these of the code's."""

    folder: Path
    name: str
    version: str
    summary: str
    packed_by: str
    compilers: tuple[str, ...]
    architectures: tuple[str, ...]
    setup: str
    teardown: str
    variables: tuple[str, ...]
    runtimes: Mapping[str, str]
    functions: tuple[PackedFunction, ...]
    digest: str

    @property
    def title(self) -> str:
        """``acme_math 1.0.0``."""
        return f"{self.name} {self.version}"

    @cached_property
    def by_name(self) -> Mapping[str, PackedFunction]:
        """The functions by their names."""
        return {f.name: f for f in self.functions}

    def read_function(self, function: PackedFunction) -> list[dict[str, Any]]:
        """The overloads of a function, with their code.

        Raises
        ------
        LibraryError : the file is gone, or is another one than when the library was imported.
        """
        overloads: list[dict[str, Any]] = json.loads(self.read(function.file, function.sha256))["overloads"]
        return overloads

    def read(self, file: str, sha256: str) -> bytes:
        """A file whose content is known.

        Raises
        ------
        LibraryError : it is gone, or holds something else.
        """
        try:
            with open(f"{self.folder}/{file}", "rb", buffering=0) as opened:  # a kernel may need a hundred of them
                data = opened.readall()
        except OSError as error:
            raise LibraryError(
                f"the library {self.title} has gone since it was imported: {self.folder / file}: {error.strerror}",
                hint="install it again and start the program anew",
            ) from None
        if hashlib.sha256(data).hexdigest() != sha256:
            raise LibraryError(
                f"the library {self.title} is damaged, or was replaced since it was imported: {self.folder / file} "
                "has another digest than the library says",
                hint="install it again and start the program anew",
            )
        return data


def read_index(folder: Path) -> PackedIndex:
    """The index of a packed library.

    Raises
    ------
    LibraryError : there is none, it is damaged, or a newer tle_raw wrote it.
    """
    file = folder / INDEX
    try:
        data = file.read_bytes()
        values = json.loads(data)
        given = values["format"]
    except OSError as error:
        raise LibraryError(f"the library in {folder} has no index: {error}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise LibraryError(f"{file} is no index of a library", hint="install the library again") from None
    if not isinstance(given, int) or given > FORMAT:
        raise LibraryError(
            f"the library {values.get('name')} {values.get('version')} was packed by {values.get('packed_by')}, in "
            f"format {given}: this tle_raw reads up to {FORMAT}",
            hint=UPDATE,
        )
    try:
        functions = tuple(PackedFunction(n, d, tuple(s), h) for n, d, s, h in values["functions"])
        return PackedIndex(
            folder, values["name"], values["version"], values["summary"], values["packed_by"],
            tuple(values["compilers"]), tuple(values["architectures"]), values["setup"], values["teardown"],
            tuple(values.get("variables", ())),
            dict(values["runtimes"]), functions,
            hashlib.sha256(data).hexdigest(),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError):
        raise LibraryError(f"{file} is no index of a library", hint="install the library again") from None


def as_json(values: Any) -> bytes:
    """The same bytes for the same values."""
    return (json.dumps(values, indent=1, ensure_ascii=True) + "\n").encode()
