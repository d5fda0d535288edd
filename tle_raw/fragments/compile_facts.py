"""What one compile of a fragment has found out: gathered once, stored as it is, read by passes and reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from tle_raw.fragments.adapter import CompilerOutput
from tle_raw.linker.prepare import LinkableModule

Facts = TypeVar("Facts", bound="CompileFacts")


@dataclass(frozen=True, kw_only=True)
class CompileFacts:
    """All that is kept of a compile beside the code.

    Attributes
    ----------
    entry : symbol of the generated entry function.
    static_shared : (name, bytes, alignment) of each static shared variable.
    uses_barrier : the code holds a block barrier of its own.
    instructions : LLVM instructions that the entry reaches.
    kept_calls : functions that stay calls.
    reads_global, writes_global : whether it may touch memory that its pointers, or its variables, name.
    compiler, warnings : who compiled, and what it said.
    seconds : the foreign compiler's time when it ran.
    files : the user's files that were read.
    missed : (path, digest) of files that were read but that only the compiler itself could name: their content is
        checked when the code is used again.
    dynamic_shared : bytes whose address the entry takes after its other parameters; 0 for none.
    block : the block that the code was compiled for, or ().
    route : the way that the source took, where its dialect has several.
    register_limit : the most registers of a thread when the kernel starts, or 0 where nothing asks for a limit.
    exclusive : the code relies on being all that its kernel does.
    linked : (function, library) of each function of a library that it calls.
    """

    name: str
    entry: str
    static_shared: tuple[tuple[str, int, int], ...]
    uses_barrier: bool
    instructions: int
    kept_calls: tuple[str, ...]
    reads_global: bool
    writes_global: bool
    compiler: str
    seconds: float
    warnings: str
    files: tuple[Path, ...] = field(metadata={"each": Path})
    missed: tuple[tuple[str, str], ...]
    dynamic_shared: int
    block: tuple[int, ...]
    route: str
    register_limit: int
    exclusive: bool
    linked: tuple[tuple[str, str], ...]

    @classmethod
    def of(
        cls: type[Facts], name: str, output: CompilerOutput, module: LinkableModule, missed: Mapping[str, str]
    ) -> Facts:
        """The facts of an adapter's output and of the module that the target made of it, each under its own name."""
        told = {
            **vars(output),
            **vars(module),  # whose entry it is that kernels call
            "name": name,
            "static_shared": tuple((v.name, v.bytes, v.align) for v in module.static_shared),
            "reads_global": module.memory.reads,
            "writes_global": module.memory.writes,
            "missed": tuple(missed.items()),
        }
        return cls(**{each.name: told[each.name] for each in fields(CompileFacts)})

    def to_json(self, names: Iterable[str] = ()) -> dict[str, Any]:
        """Facts by their names, of JSON's own kinds: these, or every one."""
        return {name: _written(getattr(self, name)) for name in names or (each.name for each in fields(CompileFacts))}

    @classmethod
    def from_json(cls: type[Facts], written: Mapping[str, Any]) -> Facts:
        """What ``to_json`` wrote; other names are left out."""
        return cls(**{f.name: _read(written[f.name], f.metadata.get("each")) for f in fields(CompileFacts)})


def _written(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_written(each) for each in value]
    return str(value) if isinstance(value, Path) else value


def _read(value: Any, each: Any) -> Any:
    if isinstance(value, list):
        return tuple(_read(v, each) for v in value)
    return each(value) if each else value
