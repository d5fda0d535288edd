"""What of a Python file's kernels is compiled ahead of time: its function ``variants`` says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction

from tle_raw.errors import DialectError
from tle_raw.target import Target

EXAMPLE = 'def variants(): yield scale, {"x": "*fp32:16", "n": "i32"}, {"BLOCK": 1024}, {"num_warps": 4}'
_WARP = 32


@dataclass(frozen=True)
class Variant:
    """One kernel for one set of types, constants and options. ``:16`` behind a type: a multiple of 16."""

    kernel: JITFunction[Any]
    types: Mapping[str, str]
    constants: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The kernel's."""
        return str(self.kernel.__name__)

    def compile(self, target: Target) -> Any:
        """Triton's compiled kernel, as a launch with such arguments would compile it."""
        import triton

        order = [name for name in self.kernel.arg_names if name in self.types or name in self.constants]
        types = {n: "constexpr" if n in self.constants else self.types[n].partition(":")[0] for n in order}
        multiples = [i for i, n in enumerate(order) if self.types.get(n, "").endswith(":16")]
        source = ASTSource(
            self.kernel, types, dict(self.constants), {(i,): [["tt.divisibility", 16]] for i in multiples}
        )
        return triton.compile(
            source, target=GPUTarget(target.backend, target.capability, _WARP), options=dict(self.options)
        )


def variants_of(module: ModuleType) -> Iterator[Variant]:
    """What the module's ``variants()`` gives.

    Raises
    ------
    DialectError : there is no such function, or it gives something else.
    """
    function = getattr(module, "variants", None)
    if not callable(function):
        raise DialectError(
            f"{module.__name__} has no function `variants`, which says what to compile", hint=f"write {EXAMPLE}"
        )
    for given in function():
        parts = given if isinstance(given, (tuple, list)) else (given,)
        maps = list(parts[1:])
        if not (2 <= len(parts) <= 4) or not isinstance(parts[0], JITFunction) or not all(map(_is_named, maps)):
            raise DialectError(
                "variants() gives a kernel, the types of its arguments, its constants and options",
                hint=f"write {EXAMPLE}",
            )
        variant = Variant(*parts)
        missing = [n for n in variant.kernel.arg_names if n not in variant.types and n not in variant.constants]
        if missing:
            raise DialectError(
                f"variants() says nothing of the parameter `{missing[0]}` of `{variant.name}`", hint=f"write {EXAMPLE}"
            )
        yield variant


def _is_named(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)
