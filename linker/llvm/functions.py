"""The header of a function or a global variable, read into its parts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from tle_raw.linker.llvm.text import Entity, Module, Token
from tle_raw.linker.llvm.types import Cursor, Type

LINKAGES = frozenset(
    [
        "private",
        "internal",
        "available_externally",
        "linkonce",
        "weak",
        "common",
        "appending",
        "extern_weak",
        "linkonce_odr",
        "weak_odr",
        "external",
    ]
)
VISIBILITIES = frozenset(["default", "hidden", "protected", "dllimport", "dllexport"])
PREEMPTION = frozenset(("dso_local", "dso_preemptable"))
KERNEL_CONVENTIONS = frozenset(("ptx_kernel", "spir_kernel", "amdgpu_kernel"))


@dataclass(frozen=True)
class FunctionType:
    """What a function returns and takes, attributes left out: ``float (ptr addrspace(1), i32)``."""

    result: str
    parameters: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.result} ({', '.join(self.parameters)})"


@dataclass(frozen=True)
class LlvmFunction:
    """A ``define`` or ``declare``, with the tokens ``before`` its name and ``after`` its parameters."""

    entity: Entity
    type: FunctionType
    before: tuple[Token, ...]
    after: tuple[Token, ...]

    @property
    def name(self) -> str:
        """The function's name, without ``@``."""
        return self.entity.name

    @property
    def is_kernel(self) -> bool:
        """Whether its calling convention is a kernel's."""
        return any(token.text in KERNEL_CONVENTIONS for token in self.before)

    @property
    def groups(self) -> tuple[str, ...]:
        """Attribute groups of the function, as ``#0``."""
        return tuple(token.text for token in self.after if token.kind == "#")


@dataclass(frozen=True)
class Global:
    """A global variable or an alias. ``linkage`` is "" for external; ``type`` is the type of its value."""

    entity: Entity
    linkage: str
    address_space: int
    kind: str
    type: Type
    align: int
    tokens: tuple[Token, ...]

    @property
    def name(self) -> str:
        return self.entity.name

    @property
    def is_definition(self) -> bool:
        return self.linkage not in ("external", "extern_weak")


def read_function(module: Module, entity: Entity) -> LlvmFunction:
    """Read the header of a ``define`` or ``declare``."""
    tokens = module.header(entity)
    named = next((i for i, token in enumerate(tokens) if token.kind == "@"), None)
    cursor = Cursor(module.text, tokens)
    if named is None:
        raise cursor.refusal("a function without a name")
    cursor.take("define", "declare")
    while cursor.sees("!dbg") or (cursor.current is not None and cursor.current.kind == "!"):
        cursor.take()  # a declaration carries its metadata before its type
    cursor.skip_attributes()
    result = cursor.read_type()
    cursor.index = named + 1
    parameters = cursor.read_types("(", ")")
    return LlvmFunction(
        entity,
        FunctionType(str(result), tuple(map(str, parameters))),
        tuple(tokens[:named]),
        tuple(tokens[cursor.index :]),
    )


def read_global(module: Module, entity: Entity) -> Global:
    """Read a global variable, constant, alias or ifunc."""
    tokens = module.header(entity)
    cursor = Cursor(module.text, tokens)
    cursor.take()
    cursor.take("=")
    linkage, space = "", 0
    while not cursor.sees("global", "constant", "alias", "ifunc"):
        word = cursor.take().text
        linkage = word if word in LINKAGES else linkage
        if cursor.sees("("):
            if word == "addrspace" and cursor.tokens[cursor.index + 1].text.isdecimal():
                space = int(cursor.tokens[cursor.index + 1].text)
            cursor.skip_group()
    kind = cursor.take().text
    value = cursor.read_type()
    return Global(entity, linkage, space, kind, value, _alignment(tokens), tuple(tokens))


def _alignment(tokens: list[Token]) -> int:
    """The number after the last ``align`` that stands outside brackets."""
    depth, found = 0, 0
    for token, following in pairwise(tokens):
        depth += (token.text in "([{") - (token.text in ")]}")
        if depth == 0 and token.text == "align" and following.text.isdecimal():
            found = int(following.text)
    return found
