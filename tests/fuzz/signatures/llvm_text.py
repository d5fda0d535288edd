"""LLVM IR whose functions read every parameter, and the types that they may take one in."""

from __future__ import annotations

import math
from random import Random

from tests.fuzz.signatures.declared import RESULT, Case, Declared, Function, Port, tag, weight
from tle_raw.fragments.bound import CONST, ELEMENT, POINTER, TILE
from tle_raw.fragments.dtypes import DTYPES

SHARED, GLOBAL, GENERIC = "ptr addrspace(3)", "ptr addrspace(1)", "ptr"
INTEGERS = ("i32", "i64", "i16", "i8")
WRONG = ("i8", "i16", "i32", "i64", "half", "bfloat", "float", "double", SHARED, GLOBAL, GENERIC, "i128", "<2 x i32>")


def ports(random: Random, parameters: tuple[Declared, ...], has_result: bool) -> tuple[tuple[Port, ...], str]:
    """How the function takes the parameters, and what it returns."""
    has_constants, is_named = random.random() < 0.6, random.random() < 0.7
    found, result = [], "double" if has_result else "void"
    for p in parameters:
        types, returned = _types(random, p, has_constants)
        result = returned or result
        found.append(Port(p, types, p.name if is_named or not has_constants else ""))
    return tuple(found), result


def _types(random: Random, p: Declared, has_constants: bool) -> tuple[tuple[str, ...], str]:
    if p.kind == CONST:
        return ((random.choice(INTEGERS),) if has_constants else ()), ""
    if p.kind == TILE:
        plain = random.choice((SHARED, SHARED, GENERIC, "i32", ""))
        return ((plain,) if plain else descriptor(len(p.dims), random.choice((SHARED, GENERIC)))), ""
    if p.kind == POINTER:
        return (random.choice((GLOBAL, GENERIC)),), ""
    if p.kind == ELEMENT and p.effect != "In":
        form = random.choice(("pointed", "returned", "made" if p.effect == "Out" else "returned"))
        return {"pointed": ((GENERIC,), ""), "returned": (("double",), "double"), "made": ((), "double")}[form]
    return (random.choice(values(p.dtype)),), ""


def descriptor(rank: int, pointer: str) -> tuple[str, ...]:
    return (pointer, pointer, *["i64"] * (1 + 2 * rank))


def values(dtype: str) -> tuple[str, ...]:
    return ("i1", "i8") if dtype == "i1" else (DTYPES[dtype].llvm,)


def fits(p: Declared, types: tuple[str, ...]) -> bool:
    """Whether one parameter may be taken so; what an element that is updated comes back by is another question."""
    if p.kind == CONST:
        return types in [(t,) for t in INTEGERS]
    if p.kind == TILE:
        return types in [(SHARED,), (GENERIC,), ("i32",), *(descriptor(len(p.dims), s) for s in (SHARED, GENERIC))]
    if p.kind == POINTER:
        return types in [(GLOBAL,), (GENERIC,)]
    return types in [(t,) for t in values(p.dtype)] or (p.effect != "In" and types == (GENERIC,))


def function_text(function: Function, case: Case | None) -> str:
    """The definition. Without a case it has no more than a type."""
    taken = ", ".join(
        f"{type_} %{_local(port, index, part)}"
        for index, port in enumerate(function.ports)
        for part, type_ in enumerate(port.types)
    )
    head = f"define {function.result} @{function.name}({taken}) {{\nstart:\n"
    if case is None:
        return f"{head}  ret {function.result}{'' if function.result == 'void' else ' zeroinitializer'}\n}}\n"
    body = _Body()
    for index, port in enumerate(function.ports):
        body.read(index, port)
    for index, port in enumerate(function.ports):
        body.write(index, port, case)
    value = "" if function.result == "void" else f" {body.total}"
    return head + "".join(f"  {line}\n" for line in [*body.lines, f"ret {function.result}{value}"]) + "}\n"


def _local(port: Port, index: int, part: int) -> str:
    """A parameter that has no name gets one that says nothing of the signature."""
    name = port.name or f"u{index}"
    return name if len(port.types) == 1 else f"{name}_{part}"


class _Body:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.total, self.count = "0.0", 0

    def value(self, instruction: str) -> str:
        self.count += 1
        self.lines.append(f"%v{self.count} = {instruction}")
        return f"%v{self.count}"

    def add(self, value: str, factor: int) -> None:
        product = self.value(f"fmul double {value}, {factor}.0")
        self.total = self.value(f"fadd double {self.total}, {product}")

    def read(self, index: int, port: Port) -> None:
        p = port.declared
        locals_ = [f"%{_local(port, index, part)}" for part in range(len(port.types))]
        if not port.types or (p.effect == "Out" and len(port.types) == 1) or p.name == "out":
            return
        if p.kind in (TILE, POINTER):
            if p.effect != "Out":
                at = math.prod(p.shape) - 1 if p.kind == TILE else 1
                self.add(self.load(p.dtype, *self.pointer(port, locals_), at), weight(index))
            for number, local in enumerate(locals_[2:]):
                self.add(self.value(f"sitofp i64 {local} to double"), number + 1)
        elif p.kind == ELEMENT and port.types == (GENERIC,):
            self.add(self.load(p.dtype, locals_[0], GENERIC, 0), weight(index))
        else:
            signed = "i32" if p.kind == CONST else p.dtype
            self.add(self.double(locals_[0], port.types[0], signed), weight(index))

    def pointer(self, port: Port, locals_: list[str]) -> tuple[str, str]:
        if port.types == ("i32",):
            return self.value(f"inttoptr i32 {locals_[0]} to {SHARED}"), SHARED
        return locals_[min(1, len(locals_) - 1)], port.types[0]

    def load(self, dtype: str, pointer: str, space: str, at: int) -> str:
        stored = "i8" if dtype == "i1" else DTYPES[dtype].llvm
        place = self.value(f"getelementptr {stored}, {space} {pointer}, i64 {at}")
        return self.double(self.value(f"load {stored}, {space} {place}"), stored, dtype)

    def double(self, value: str, type_: str, dtype: str) -> str:
        if type_ == "double":
            return value
        if DTYPES[dtype].is_integer:
            is_signed = dtype[0] == "i" and dtype != "i1"
            return self.value(f"{'s' if is_signed else 'u'}itofp {type_} {value} to double")
        return self.value(f"fpext {type_} {value} to double")

    def write(self, index: int, port: Port, case: Case) -> None:
        p = port.declared
        local = f"%{_local(port, index, 0)}"
        if p.name == case.told and case.told != RESULT and port.types and port.types[0].startswith("ptr"):
            self.lines.append(f"store double {self.total}, {port.types[0]} {local}")
        elif p.kind == TILE and p.effect != "In":
            locals_ = [f"%{_local(port, index, part)}" for part in range(len(port.types))]
            pointer, space = self.pointer(port, locals_)
            self.lines.append(f"store {self.constant(tag(index, p.dtype), p.dtype)}, {space} {pointer}")

    def constant(self, number: int, dtype: str) -> str:
        type_ = "i8" if dtype == "i1" else DTYPES[dtype].llvm
        if DTYPES[dtype].is_integer:
            return f"{type_} {number}"
        if type_ == "double":
            return f"double {number}.0"
        return f"{type_} {self.value(f'fptrunc double {number}.0 to {type_}')}"
