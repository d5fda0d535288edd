"""The code of a packed library as a dialect: its fragments are read, not compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from tle_raw.emulation.runtime import give_runtime
from tle_raw.errors import LibraryError, Row, SourceLocation
from tle_raw.fragments.adapter import CompilerOutput, Declaration, DeviceCode, Source
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.signature import Signature
from tle_raw.libraries.architecture import chosen_architecture
from tle_raw.libraries.code_key import code_key
from tle_raw.libraries.fitted import fitted_from_json
from tle_raw.libraries.packed_files import PackedIndex
from tle_raw.linker.prepare import LinkableModule
from tle_raw.target import Target

_MOST_SHOWN = 8


class PackedAdapter:
    """One library. ``Declaration.wrapped`` is one overload of ``functions/<name>.json``."""

    name = "library"
    is_compiled_before: Literal[True] = True

    def __init__(self, index: PackedIndex) -> None:
        self.index = index

    def read(self, declaration: Declaration) -> Source:
        """Nothing is read: what the index says of the code is as good as the code."""
        overload: dict[str, Any] = declaration.wrapped
        location = SourceLocation(declaration.location.file, 0)
        settings = (("library", self.index.title), ("digest", self.index.digest))
        text = "\n".join(code["sha256"] for code in overload["code"])
        return Source(self.name, declaration.name, overload["symbol"], text, location, settings, data=overload)

    def files(self, source: Source) -> tuple[Path, ...]:
        """None that anybody edits: their digests are checked when they are read."""
        return ()

    def compiler_identity(self) -> str:
        """Whoever packed it."""
        return f"{self.index.title} ({self.index.packed_by})"

    def compile(self, source: Source, bound: BoundSignature, target: Target) -> CompilerOutput:
        """The code that was packed for such a call.

        Raises
        ------
        LibraryError : there is none for it, or none for the target; or the file is gone or damaged.
        """
        code = self.find(source.data, source.name, bound, target)
        if target.backend == "cpu":
            self._give_runtimes()
        return self._output(source, code, self.index.read(f"code/{code['file']}", code["sha256"]).decode())

    def compile_fitted(
        self, source: Source, bound: BoundSignature, target: Target, older_llvm: bool
    ) -> tuple[CompilerOutput, LinkableModule, Path] | None:
        """What a kernel links, as the library brings it, and its file; None where it has to be made of the code.

        Raises
        ------
        LibraryError : as ``compile``.
        """
        code = self.find(source.data, source.name, bound, target)
        written = code.get("fitted")
        fitted = fitted_from_json(written, code["entry"], bound, older_llvm) if written else None
        if fitted is None:
            return None
        self.index.read(fitted.file, fitted.sha256)
        return self._output(source, code, ""), fitted.module, self.index.folder / fitted.file

    def _output(self, source: Source, code: dict[str, Any], text: str) -> CompilerOutput:
        return CompilerOutput(
            text,
            code["entry"],
            (),
            0.0,
            self.compiler_identity(),
            dynamic_shared=code["dynamic_shared"],
            block=tuple(code["block"]),
            route=f"{self.index.title}, {code['target']}",
            register_limit=code["register_limit"],
            exclusive=code["exclusive"],
            host_variables=self.index.variables,
            device=DeviceCode(source.symbol, source.location),
        )

    def _give_runtimes(self) -> None:
        for file, sha256 in self.index.runtimes.items():
            give_runtime(file.rpartition("/")[2], lambda f=file, s=sha256: self.index.read(f, s).decode())  # type: ignore[misc]

    def prototype(self, source: Source | None, signature: Signature) -> str:
        """The signature: the author has written it already."""
        return str(signature)

    def find(self, overload: dict[str, Any], name: str, bound: BoundSignature, target: Target) -> dict[str, Any]:
        """The entry of ``functions/<name>.json`` for such a call.

        Raises
        ------
        LibraryError : there is none.
        """
        self.check_packed(overload, name, bound)
        key = code_key(bound)
        fitting = {code["target"]: code for code in overload["code"] if code["key"] == key}
        specific = [code["target"] for code in fitting.values() if code["specific"]]
        chosen = chosen_architecture(target, fitting, specific)
        if chosen is None:
            only = f"; code for {', '.join(specific)} runs on no other GPU" if specific else ""
            raise LibraryError(
                f"{self.index.title} has no code of `{name}` for {target}",
                table=[Row("target", f"{', '.join(fitting)}, or newer GPUs", str(target))],
                hint=f"pack it for {target}, or for an older GPU{only}",
            )
        code: dict[str, Any] = fitting[chosen]
        return code

    def check_packed(self, overload: dict[str, Any], name: str, bound: BoundSignature) -> None:
        """Whether there is code for such a call, for any target.

        Raises
        ------
        LibraryError : there is none; the message lists what there is.
        """
        key = code_key(bound)
        keys = list(dict.fromkeys(code["key"] for code in overload["code"]))
        if key not in keys:
            shown = "; ".join(keys[:_MOST_SHOWN]) + (
                f"; and {len(keys) - _MOST_SHOWN} more" * (len(keys) > _MOST_SHOWN)
            )
            raise LibraryError(
                f"{self.index.title} has no code of `{name}` for these values",
                table=[Row("packed for", shown, key)],
                hint="add the values to the library's manifest and pack it again",
            )


def block_of(overload: dict[str, Any]) -> dict[str, Any]:
    """The options of its fragment: the block that the code was written for."""
    block = overload["block"]
    return {"block": tuple(block)} if block else {}
