"""Writes the function that a kernel calls, in LLVM IR: it turns what crosses into the user's parameters."""

from __future__ import annotations

from collections.abc import Iterator

from tle_raw.adapters.common.device_llvm.callee import Callee
from tle_raw.adapters.common.device_llvm.forms import ADDRESS, GENERIC, LAYOUT, SHARED, Layout, LlvmArgument
from tle_raw.fragments.bound import ELEMENT, POINTER, TILE, BoundParameter, BoundSignature
from tle_raw.linker.llvm.text import Module, encode_name

THREAD = "llvm.nvvm.read.ptx.sreg.tid.x"


def entry_text(entry: str, bound: BoundSignature, callee: Callee, layout: Layout) -> str:
    """``entry`` of the type that ``bound`` states."""
    parameters = [f"{p.llvm} %tle.{i}" for i, p in enumerate(bound.crossing)] or ["i32 %tle.none"]
    body = _Body(bound, callee, layout)
    for index, parameter in enumerate(bound.crossing):
        body.cross(parameter, f"%tle.{index}", index)
    result = body.call()
    given = f"{bound.entry_result} {result}" if result else "i32 0"
    head = f"define {bound.entry_result} @{entry}({', '.join(parameters)}) convergent {{"
    return "\n".join([head, *body.lines, f"  ret {given}", "}", ""])


def thread_text(entry: str, bound: BoundSignature, callee: Callee, layout: Layout) -> str:
    """One thread's share of a region: ``args[i]`` is the address of the i-th value, or of a tile's first."""
    body = _Body(bound, callee, layout)
    for index, parameter in enumerate(bound.crossing):
        body.take(parameter, index)
    result = body.call()
    if result:
        assert bound.result is not None
        body.store_result(result, bound.result.llvm, len(bound.crossing))
    return "\n".join([f"define void @{entry}(ptr %args) convergent {{", *body.lines, "  ret void", "}", ""])


def added_text(module: Module, function: str) -> str:
    """What is added to a module for one more function: with a declaration of the intrinsic that it may call."""
    known = any(entity.name == THREAD for entity in module.of_kind("declare"))
    declared = f"declare i32 @{THREAD}()\n" if f"@{THREAD}(" in function and not known else ""
    return f"\n{declared}{function}"


def with_added(text: str, added: str) -> str:
    return f"{text.rstrip()}\n{added}"


class _Body:
    """Instructions of the entry. ``values`` maps a parameter and a type to the value of that type."""

    def __init__(self, bound: BoundSignature, callee: Callee, layout: Layout) -> None:
        self.bound, self.callee, self.layout = bound, callee, layout
        self.lines: list[str] = []
        self.values: dict[tuple[str, str], str] = {}
        self.slots: dict[str, str] = {}

    def _value(self, name: str, instruction: str) -> str:
        self.lines.append(f"  {name} = {instruction}")
        return name

    def cross(self, parameter: BoundParameter, crossed: str, index: int) -> None:
        """A value as it comes from the kernel."""
        if parameter.is_descriptor:
            self.values[parameter.name, LAYOUT] = crossed
            self.values[parameter.name, GENERIC] = self._value(f"%map.{index}", f"inttoptr i64 {crossed} to ptr")
        elif parameter.kind == TILE:
            self.values[parameter.name, ADDRESS] = crossed
            pointer = self._value(f"%tile.{index}", f"inttoptr i32 {crossed} to {SHARED}")
            self._pointers(parameter, pointer, index)
        elif parameter.kind == POINTER:
            self._pointers(parameter, crossed, index)
        else:
            self._scalar(parameter, crossed, index)

    def take(self, parameter: BoundParameter, index: int) -> None:
        """The same from memory, for one thread's share."""
        slot = self._value(f"%slot.{index}", f"getelementptr ptr, ptr %args, i64 {index}")
        place = self._value(f"%place.{index}", f"load ptr, ptr {slot}")
        if parameter.is_descriptor:
            self.values[parameter.name, GENERIC] = place
            self.values[parameter.name, LAYOUT] = self._value(f"%map.{index}", f"ptrtoint ptr {place} to i64")
        elif parameter.kind == TILE:
            pointer = self._value(f"%tile.{index}", f"addrspacecast ptr {place} to {SHARED}")
            self.values[parameter.name, ADDRESS] = f"%address.{index}"
            self.lines.append(f"  %address.{index} = ptrtoint {SHARED} {pointer} to i32")
            self._pointers(parameter, pointer, index)
        elif parameter.kind == POINTER:
            plain = self._value(f"%plain.{index}", f"load ptr, ptr {place}")
            self._pointers(
                parameter, self._value(f"%global.{index}", f"addrspacecast ptr {plain} to {parameter.llvm}"), index
            )
        else:
            memory = "i8" if parameter.llvm == "i1" else parameter.llvm
            value = self._value(f"%loaded.{index}", f"load {memory}, ptr {place}")
            if parameter.llvm == "i1":
                value = self._value(f"%bit.{index}", f"icmp ne i8 {value}, 0")
            self._scalar(parameter, value, index)

    def _pointers(self, parameter: BoundParameter, pointer: str, index: int) -> None:
        own = SHARED if parameter.kind == TILE else parameter.llvm
        self.values[parameter.name, own] = pointer
        generic = self._value(f"%generic.{index}", f"addrspacecast {own} {pointer} to ptr")
        self.values[parameter.name, GENERIC] = generic

    def _scalar(self, parameter: BoundParameter, value: str, index: int) -> None:
        kind, stored = parameter.llvm, value
        self.values[parameter.name, kind] = value
        if kind == "i1":
            stored = self._value(f"%byte.{index}", f"zext i1 {value} to i8")
            self.values[parameter.name, "i8"] = stored
        if parameter.kind == ELEMENT and parameter.effect != "In":
            memory = "i8" if kind == "i1" else kind
            slot = self._value(f"%element.{index}", f"alloca {memory}")
            self.lines.append(f"  store {memory} {stored}, ptr {slot}")
            self.values[parameter.name, GENERIC] = self.slots[parameter.name] = slot

    def call(self) -> str:
        """Call the user's function; the value that goes back to the kernel, or ""."""
        passed = ", ".join(f"{kind}{self._extension(i)} {self._argument(a, kind)}" for i, (a, kind) in self._typed())
        convention = f"{self.callee.convention} " if self.callee.convention else ""
        call = f"call {convention}{self.callee.type.result} {encode_name('@', self.callee.symbol)}({passed}) convergent"
        if self.callee.type.result == "void":
            self.lines.append(f"  {call}")
            return self._updated()
        value = self._value("%returned", call)
        wanted = self.bound.entry_result
        if self.callee.type.result == wanted:
            return value
        if self.callee.type.result == GENERIC:
            return self._value("%result", f"ptrtoint ptr {value} to {wanted}")
        return self._value("%result", f"icmp ne {self.callee.type.result} {value}, 0")  # a bool that came as a byte

    def _typed(self) -> Iterator[tuple[int, tuple[LlvmArgument, str]]]:
        return enumerate(zip(self.layout.arguments, self.callee.type.parameters, strict=True))

    def _extension(self, index: int) -> str:
        """How a small integer is widened where the call stays one: as the function's own parameter says."""
        word = self.callee.extensions[index]
        return f" {word}" if word else ""

    def _argument(self, argument: LlvmArgument, kind: str) -> str:
        if argument.value is not None:
            return str(argument.value)
        return self.values[argument.parameter.name, kind]

    def _updated(self) -> str:
        """The element behind the pointer that the function took."""
        element = next((p for p in self.bound.parameters if p.name in self.slots), None)
        if element is None or self.bound.result is not None:
            return ""
        memory = "i8" if element.llvm == "i1" else element.llvm
        value = self._value("%updated", f"load {memory}, ptr {self.slots[element.name]}")
        return self._value("%result", f"icmp ne i8 {value}, 0") if element.llvm == "i1" else value

    def store_result(self, value: str, kind: str, index: int) -> None:
        """Thread 0 writes the region's result."""
        slot = self._value("%slot.result", f"getelementptr ptr, ptr %args, i64 {index}")
        place = self._value("%place.result", f"load ptr, ptr {slot}")
        memory = "i8" if kind == "i1" else kind
        if kind == "i1":
            value = self._value("%byte.result", f"zext i1 {value} to i8")
        thread = self._value("%thread", f"call i32 @{THREAD}()")
        first = self._value("%first", f"icmp eq i32 {thread}, 0")
        self.lines += [
            f"  br i1 {first}, label %write, label %end",
            "write:",
            f"  store {memory} {value}, ptr {place}",
            "  br label %end",
            "end:",
        ]
