"""MLIR whose functions read every parameter, and the types that they may take one in."""

from __future__ import annotations

import math
from random import Random

from tests.fuzz.signatures.declared import RESULT, Case, Declared, Function, Port, tag, weight
from tle_raw.fragments.bound import CONST, ELEMENT, POINTER, TILE
from tle_raw.fragments.dtypes import DTYPES
from tle_raw.fragments.mlir_types import element_type

SHARED, GLOBAL, GENERIC = "!llvm.ptr<3>", "!llvm.ptr<1>", "!llvm.ptr"
INTEGERS = ("i32", "i64", "index", "i16", "i8")
WRONG = ("i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", SHARED, GLOBAL, GENERIC, "memref<4xf32, 1>", "i128")


def ports(random: Random, parameters: tuple[Declared, ...], has_result: bool) -> tuple[tuple[Port, ...], str]:
    """How the function takes the parameters, and what it returns."""
    has_constants, is_named = random.random() < 0.6, random.random() < 0.7
    has_memrefs = random.random() < 0.3
    found, result = [], "f64" if has_result else ""
    for p in parameters:
        types, returned = _types(random, p, has_constants, has_memrefs)
        result = returned or result
        found.append(Port(p, types, p.name if is_named or not has_constants else ""))
    return tuple(found), result


def _types(random: Random, p: Declared, has_constants: bool, has_memrefs: bool) -> tuple[tuple[str, ...], str]:
    if p.kind == CONST:
        return ((random.choice(INTEGERS[: 5 if has_memrefs else 2]),) if has_constants else ()), ""
    if p.kind == TILE:
        if has_memrefs and p.dtype != "i1":
            return (memref(p, [d if random.random() < 0.5 else "?" for d in p.shape]),), ""
        return (random.choice((SHARED, SHARED, GENERIC, "i32")),), ""
    if p.kind == POINTER:
        return (random.choice((GLOBAL, GENERIC)),), ""
    if p.kind == ELEMENT and p.effect != "In":
        form = random.choice(("pointed", "returned", "made" if p.effect == "Out" else "returned"))
        return {"pointed": ((GENERIC,), ""), "returned": (("f64",), "f64"), "made": ((), "f64")}[form]
    return (random.choice(values(p.dtype)[: 3 if has_memrefs else 2]),), ""


def memref(p: Declared, dims: list[object]) -> str:
    return f"memref<{'x'.join(map(str, dims))}x{element_type(DTYPES[p.dtype])}, 3>"


def values(dtype: str) -> tuple[str, ...]:
    plain = element_type(DTYPES[dtype])
    if dtype == "i1":
        return ("i1", "i8")
    return (plain, plain, "index") if DTYPES[dtype].is_integer and DTYPES[dtype].bits == 64 else (plain,)


def fits(p: Declared, types: tuple[str, ...]) -> bool:
    """Whether one parameter may be taken so; what an element that is updated comes back by is another question."""
    if p.kind == CONST:
        return types in [(t,) for t in INTEGERS]
    if p.kind == TILE:
        return types in [(SHARED,), (GENERIC,), ("i32",)] or _fits_memref(p, types[0])
    if p.kind == POINTER:
        return types in [(GLOBAL,), (GENERIC,)]
    return types in [(t,) for t in values(p.dtype)] or (p.effect != "In" and types == (GENERIC,))


def _fits_memref(p: Declared, type_: str) -> bool:
    if not type_.startswith("memref<") or not type_.endswith(", 3>"):
        return False
    *dims, element = type_.removeprefix("memref<").removesuffix(", 3>").split("x")
    same_dims = len(dims) == len(p.shape) and all(d in ("?", str(n)) for d, n in zip(dims, p.shape))
    return same_dims and element in values(p.dtype)


def function_text(function: Function, case: Case | None) -> str:
    """The definition. Without a case it has no more than a type."""
    taken = ", ".join(
        f"%{port.name or f'u{index}'}: {port.types[0]}" for index, port in enumerate(function.ports) if port.types
    )
    result = f" -> {function.result}" if function.result else ""
    head = f"func.func @{function.name}({taken}){result} {{\n"
    body = _Body()
    if case is not None:
        for index, port in enumerate(function.ports):
            body.read(index, port)
        for index, port in enumerate(function.ports):
            body.write(index, port, case)
    if function.result and case is None:
        body.total = body.zero(function.result)
    end = f"return {body.total} : {function.result}" if function.result else "return"
    return head + "".join(f"  {line}\n" for line in [*body.lines, end]) + "}\n"


class _Body:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0
        self.total = self.value("arith.constant 0.0 : f64")

    def value(self, operation: str) -> str:
        self.count += 1
        self.lines.append(f"%v{self.count} = {operation}")
        return f"%v{self.count}"

    def zero(self, type_: str) -> str:
        return self.value(f"llvm.mlir.zero : {type_}" if "!" in type_ else f"arith.constant {_number(0, type_)}")

    def add(self, value: str, factor: int) -> None:
        constant = self.value(f"arith.constant {factor}.0 : f64")
        product = self.value(f"arith.mulf {value}, {constant} : f64")
        self.total = self.value(f"arith.addf {self.total}, {product} : f64")

    def read(self, index: int, port: Port) -> None:
        p, local = port.declared, f"%{port.name or f'u{index}'}"
        if not port.types or p.effect == "Out" or p.name == "out":
            return
        if p.kind in (TILE, POINTER):
            at = math.prod(p.shape) - 1 if p.kind == TILE else 1
            self.add(self.load(p, port.types[0], local, at), weight(index))
        elif p.kind == ELEMENT and port.types == (GENERIC,):
            self.add(self.load(p, GENERIC, local, 0), weight(index))
        else:
            self.add(self.double(local, port.types[0], "i32" if p.kind == CONST else p.dtype), weight(index))

    def load(self, p: Declared, type_: str, local: str, at: int) -> str:
        stored = "i8" if p.dtype == "i1" else element_type(DTYPES[p.dtype])
        if type_.startswith("memref"):
            return self.double(self.value(f"memref.load {local}[{self.last(p)}] : {type_}"), stored, p.dtype)
        pointer, space = self.pointer(local, type_)
        place = self.value(f"llvm.getelementptr {pointer}[{at}] : ({space}) -> {space}, {stored}")
        return self.double(self.value(f"llvm.load {place} : {space} -> {stored}"), stored, p.dtype)

    def last(self, p: Declared) -> str:
        return ", ".join(self.value(f"arith.constant {n - 1} : index") for n in p.shape)

    def pointer(self, local: str, type_: str) -> tuple[str, str]:
        if type_ == "i32":
            return self.value(f"llvm.inttoptr {local} : i32 to {SHARED}"), SHARED
        return local, type_

    def double(self, value: str, type_: str, dtype: str) -> str:
        if type_ == "f64":
            return value
        if type_ == "index":
            value, type_ = self.value(f"arith.index_cast {value} : index to i64"), "i64"
        if DTYPES[dtype].is_integer:
            is_signed = dtype[0] == "i" and dtype != "i1"
            return self.value(f"arith.{'s' if is_signed else 'u'}itofp {value} : {type_} to f64")
        return self.value(f"arith.extf {value} : {type_} to f64")

    def write(self, index: int, port: Port, case: Case) -> None:
        p, local = port.declared, f"%{port.name or f'u{index}'}"
        if p.name == case.told and case.told != RESULT and port.types and port.types[0].startswith("!llvm.ptr"):
            self.lines.append(f"llvm.store {self.total}, {local} : f64, {port.types[0]}")
        elif p.kind == TILE and p.effect != "In":
            stored = "i8" if p.dtype == "i1" else element_type(DTYPES[p.dtype])
            made = self.value(f"arith.constant {_number(tag(index, p.dtype), stored)}")
            self.store(made, stored, p, port.types[0], local)

    def store(self, made: str, stored: str, p: Declared, type_: str, local: str) -> None:
        if type_.startswith("memref"):
            zero = self.value("arith.constant 0 : index")
            self.lines.append(f"memref.store {made}, {local}[{', '.join([zero] * len(p.dims))}] : {type_}")
        else:
            pointer, space = self.pointer(local, type_)
            self.lines.append(f"llvm.store {made}, {pointer} : {stored}, {space}")


def _number(number: int, type_: str) -> str:
    return f"{number}.0 : {type_}" if "f" in type_ else f"{number} : {type_}"
