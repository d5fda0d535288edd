"""What a name stands for where paths meet: after an `if`, at the head of a loop, after a `break`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tle_raw.adapters.mlir.edsl.emitter import Emitter
from tle_raw.adapters.mlir.edsl.types import BOOL, F32, Number, Type, literal_type, promote
from tle_raw.adapters.mlir.edsl.values import Conflict, EdslValue, Undefined, describe, is_literal
from tle_raw.errors import SourceLocation

Environment = dict[str, Any]


@dataclass(eq=False)
class Phi:
    """A value that each path gives for itself; ``value`` is set when the operation that joins the paths is made."""

    type: Type
    entries: Sequence[Any]
    value: EdslValue | None = None


@dataclass(eq=False)
class Edge:
    """A path that ends in a block and goes on elsewhere: a break, a continue, a return."""

    block: Any
    environment: Environment
    location: SourceLocation
    value: Any = None


def merge_environments(environments: Sequence[Environment], location: SourceLocation) -> Environment:
    """One environment of several; its values that differ are phis."""
    names: dict[str, None] = {}
    for environment in environments:
        names.update(dict.fromkeys(environment))
    merged: Environment = {}
    for name in names:
        entries = [e.get(name, _ABSENT) for e in environments]
        first = entries[0]
        if all(entry is first for entry in entries):
            merged[name] = first
        elif _ABSENT in entries:
            merged[name] = Undefined(name, location, "it is assigned on some paths only")
        else:
            merged[name] = merge(name, entries, location)
    return merged


class _Absent:
    pass


_ABSENT = _Absent()


def merge(name: str, entries: Sequence[Any], location: SourceLocation, promoting: bool = False) -> Any:
    """One entry of several. ``promoting``: numbers of different types meet, as in a conditional expression."""
    first = entries[0]
    if all(entry is first for entry in entries):
        return first
    for entry in entries:
        if isinstance(entry, (Undefined, Conflict)):
            return entry
    if all(is_literal(e) and type(e) is type(first) and e == first for e in entries):
        return first
    if all(isinstance(e, tuple) and len(e) == len(first) for e in entries if isinstance(first, tuple)) and isinstance(
        first, tuple
    ):
        return type(first)(merge(name, items, location, promoting) for items in zip(*entries))
    if all(isinstance(e, EdslValue) or is_literal(e) for e in entries):
        type_ = _common_type(entries, promoting)
        if type_ is not None:
            return Phi(type_, entries)
    elif isinstance(first, str) and all(e == first for e in entries):
        return first
    other = next(e for e in entries if describe(e) != describe(first) or e is not first)
    return Conflict(name, location, describe(first), describe(other))


def _common_type(entries: Sequence[Any], promoting: bool) -> Type | None:
    """The type of a phi, or None where the entries do not fit together."""
    types: list[Type] = []
    for entry in entries:
        if isinstance(entry, EdslValue) and entry.type not in types:
            types.append(entry.type)
    literals = [e for e in entries if is_literal(e)]
    if not types:
        return _literals_type(literals, promoting)
    type_ = types[0]
    for other in types[1:]:
        if not promoting or not isinstance(type_, Number) or not isinstance(other, Number):
            return None
        type_ = promote(type_, other)
    for literal in literals:
        if not isinstance(type_, Number):
            return None
        if not _fits(literal, type_):
            if not promoting:
                return None
            type_ = promote(type_, literal_type(literal))
    return type_


def _literals_type(literals: Sequence[Any], promoting: bool) -> Number | None:
    type_ = literal_type(literals[0])
    for literal in literals[1:]:
        other = literal_type(literal)
        if not promoting and (type_ is BOOL) != (other is BOOL):
            return None
        type_ = promote(type_, other)
    return type_


def _fits(literal: bool | int | float, type_: Number) -> bool:
    if isinstance(literal, bool) or type_.is_bool:
        return isinstance(literal, bool) and type_.is_bool
    if type_.is_float:
        return True
    return isinstance(literal, int) and type_.range[0] <= literal <= type_.range[1]


def phis(entry: Any) -> Iterator[Phi]:
    """The phis in an entry, in order."""
    if isinstance(entry, Phi):
        yield entry
    elif isinstance(entry, tuple):
        for item in entry:
            yield from phis(item)


def filled(entry: Any) -> Any:
    """The entry with the phis' values in their places."""
    if isinstance(entry, Phi):
        return entry.value
    if isinstance(entry, tuple) and any(True for _ in phis(entry)):
        return type(entry)(filled(item) for item in entry)
    return entry


def as_type(emit: Emitter, entry: Any, type_: Type) -> EdslValue:
    """What a path gives to a phi."""
    if isinstance(entry, EdslValue):
        if entry.type is type_ or entry.type == type_:
            return entry
        assert isinstance(type_, Number)
        return emit.convert(entry, type_)
    assert isinstance(type_, Number)
    return emit.constant(float(entry) if type_.is_float else entry, type_)


# --- loops ------------------------------------------------------------------------------------------------------------


@dataclass
class Leaf:
    """A value that a loop carries. One that began as a literal is an i32 or an f32, or what the loop makes of it."""

    name: str
    type: Type
    from_literal: bool


@dataclass
class Fixed:
    """What a loop cannot change: a string, a dtype, a function."""

    name: str
    entry: Any


@dataclass
class Carried:
    """The names that a loop changes, each with the form of what it stands for."""

    forms: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, names: Sequence[str], environment: Environment) -> Carried:
        return cls({name: _form(name, environment[name]) for name in names})

    @property
    def leaves(self) -> list[Leaf]:
        return [leaf for form in self.forms.values() for leaf in _leaves(form)]

    @property
    def types(self) -> list[str]:
        return [leaf.type.mlir for leaf in self.leaves]

    def values(self, emit: Emitter, environment: Environment) -> list[EdslValue]:
        """What is carried, in the types of the leaves."""
        values: list[EdslValue] = []
        for name, form in self.forms.items():
            _collect(emit, form, environment[name], values)
        return values

    def bind(self, environment: Environment, values: Iterator[EdslValue]) -> None:
        for name, form in self.forms.items():
            environment[name] = _rebuild(form, values)

    def settle(self, environment: Environment) -> tuple[bool, Conflict | Undefined | None]:
        """Let leaves that began as literals take the type that the loop gives them.

        Returns whether one did, and the first name that does not fit.
        """
        changed = False
        for name, form in self.forms.items():
            for leaf, entry in _pairs(form, environment.get(name)):
                if isinstance(entry, (Undefined, Conflict)):
                    return changed, entry
                type_ = _settled(leaf, entry)
                if type_ is None:
                    expected = str(leaf.type) if isinstance(leaf, Leaf) else describe(leaf.entry)
                    return changed, Conflict(name, SourceLocation("", 0), expected, describe(entry))
                if isinstance(leaf, Leaf) and type_ is not leaf.type and type_ != leaf.type:
                    leaf.type, changed = type_, True
        return changed, None


def _form(name: str, entry: Any) -> Any:
    if isinstance(entry, EdslValue):
        return Leaf(name, entry.type, False)
    if is_literal(entry):
        return Leaf(name, F32 if isinstance(entry, float) else literal_type(entry), True)
    if isinstance(entry, tuple):
        return type(entry)(_form(name, item) for item in entry)
    return Fixed(name, entry)


def _leaves(form: Any) -> Iterator[Leaf]:
    if isinstance(form, Leaf):
        yield form
    elif isinstance(form, tuple):
        for item in form:
            yield from _leaves(item)


def _collect(emit: Emitter, form: Any, entry: Any, values: list[EdslValue]) -> None:
    if isinstance(form, Leaf):
        values.append(as_type(emit, entry, form.type))
    elif isinstance(form, tuple):
        for item, value in zip(form, entry):
            _collect(emit, item, value, values)


def _rebuild(form: Any, values: Iterator[EdslValue]) -> Any:
    if isinstance(form, Leaf):
        return next(values)
    if isinstance(form, tuple):
        return type(form)(_rebuild(item, values) for item in form)
    return form.entry


def _pairs(form: Any, entry: Any) -> Iterator[tuple[Leaf | Fixed, Any]]:
    if isinstance(form, tuple):
        if isinstance(entry, tuple) and len(entry) == len(form):
            for item, value in zip(form, entry):
                yield from _pairs(item, value)
            return
        name = next(iter(_leaves(form)), Leaf("", F32, False)).name
        yield Fixed(name, form), entry
        return
    yield form, entry


def _settled(leaf: Leaf | Fixed, entry: Any) -> Type | None:
    """The leaf's type after a round of the loop; None where the entry does not fit."""
    if isinstance(leaf, Fixed):
        return F32 if entry is leaf.entry else None
    if is_literal(entry):
        if isinstance(leaf.type, Number) and _fits(entry, leaf.type):
            return leaf.type
        if (
            leaf.from_literal
            and isinstance(leaf.type, Number)
            and leaf.type is not BOOL
            and not isinstance(entry, bool)
        ):
            return promote(leaf.type, literal_type(entry))
        return None
    if not isinstance(entry, EdslValue):
        return None
    if entry.type == leaf.type:
        return leaf.type
    if not leaf.from_literal or not isinstance(entry.type, Number) or not isinstance(leaf.type, Number):
        return None
    if (entry.type is BOOL) != (leaf.type is BOOL) or entry.type.is_fp8:
        return None
    return promote(leaf.type, entry.type)
