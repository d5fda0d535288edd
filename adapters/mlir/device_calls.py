"""Lowers the operations of math and gpu in generic text to llvm and nvvm, which libtriton's passes leave alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tle_raw.adapters.mlir.libdevice import COUNTS, FUNCTIONS, INTRINSICS, TESTS, function_name
from tle_raw.errors import UnsupportedFeatureError

# The printer gives an operation without regions one line.
_LINE = re.compile(
    r"^(?P<indent>\s*)(?:(?P<results>%[\w]+(?::\d+)?) = )?"
    r'"(?P<name>(?:math|gpu|cf)\.[\w.]+)"\((?P<operands>[^)]*)\)'
    r"(?: <\{(?P<properties>.*?)\}>)?(?: \{.*\})? : \((?P<types>.*?)\) -> (?P<result_types>.*?)"
    r"(?P<location> loc\(.*\))?$"
)
_HALF = ("f16", "bf16")
_DIMENSIONS = {"thread_id": "tid", "block_id": "ctaid", "block_dim": "ntid", "grid_dim": "nctaid"}
_SHUFFLES = {"xor": "bfly", "up": "up", "down": "down", "idx": "idx"}
# Operations of these dialects that the conversions of libtriton do know.
_LEFT = frozenset(("cf.br", "cf.cond_br", "cf.switch"))


@dataclass
class GenericOperation:
    """One line of generic text."""

    name: str
    results: tuple[str, ...]
    operands: tuple[str, ...]
    properties: str
    types: tuple[str, ...]
    result_types: tuple[str, ...]
    location: str = ""

    @property
    def fastmath(self) -> str:
        match = re.search(r"fastmath = #arith\.fastmath<([\w,]+)>", self.properties)
        return match[1] if match else ""


@dataclass
class _Writer:
    """New names, and what the module must declare for the calls that were written."""

    declared: set[str]
    added: dict[str, str] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)  # locations by their alias
    function: str = ""
    claimed: list[str] = field(default_factory=list)  # lines for the function's entry: memory is claimed once
    count: int = 0

    def name(self) -> str:
        self.count += 1
        return f"%tle_{self.count}"

    def declare(self, name: str, line: str) -> None:
        if name not in self.declared:
            self.added[name] = line

    def constant(self, value: int, type_: str = "i32") -> tuple[str, str]:
        name = self.name()
        return name, f"{name} = llvm.mlir.constant({value} : {type_}) : {type_}"

    def string(self, text: str) -> tuple[str, str]:
        """A global of this text; ``text`` is escaped as MLIR prints it. Gives its address."""
        symbol = f"tle_text_{len(self.added)}"
        size = len(re.sub(r"\\([0-9A-Fa-f]{2}|.)", "x", text).encode()) + 1
        constant = f'llvm.mlir.global internal constant @{symbol}("{text}\\00")'
        self.added[symbol] = f"{constant} {{addr_space = 0 : i32}} : !llvm.array<{size} x i8>"
        name = self.name()
        return name, f"{name} = llvm.mlir.addressof @{symbol} : !llvm.ptr"


def lower_device_calls(text: str) -> str:
    """The same module with calls of libdevice, nvvm operations, and calls of vprintf and __assertfail.

    Raises
    ------
    UnsupportedFeatureError : an operation of math or gpu that is not known here.
    """
    writer = _Writer(set(re.findall(r'sym_name = "((?:[^"\\]|\\.)*)"', text)))
    writer.places.update(re.findall(r"^(#loc\d*) = (loc\(.*\))$", text, re.MULTILINE))
    lines = list(_all_lowered(text, writer))
    if writer.added:
        top = next(i for i, line in enumerate(lines) if line.startswith('"builtin.module"'))
        lines[top + 1 : top + 1] = [f"  {line} loc(unknown)" for line in writer.added.values()]
    return "\n".join(lines)


def _all_lowered(text: str, writer: _Writer) -> list[str]:
    lines: list[str] = []
    entry = 0
    for line in text.split("\n"):
        starts = bool(lines) and '"llvm.func"' in lines[-1] and lines[-1].endswith("({")
        named = re.search(r'"llvm\.func"\(\).* sym_name = "((?:[^"\\]|\\.)*)"', line)
        writer.function = named[1] if named else writer.function
        if starts and not line.lstrip().startswith("^bb"):
            entry = len(lines)
        lines += _lowered(line, writer)
        if starts and line.lstrip().startswith("^bb"):
            entry = len(lines)
        lines[entry:entry] = [f"{claim} loc(unknown)" for claim in writer.claimed]
        entry += len(writer.claimed)
        writer.claimed.clear()
    return lines


def _lowered(line: str, writer: _Writer) -> Iterator[str]:
    match = _LINE.match(line)
    if match is None or match["name"] in _LEFT:
        unknown = re.match(r'\s*(?:%[\w:]+ = )?"((?:gpu|math)\.[\w.]+)"', line)
        if unknown and unknown[1] != "gpu.module":
            raise _unknown(unknown[1])
        yield line
        return
    operation = _operation(match)
    dialect, _, name = operation.name.partition(".")
    write = _GPU.get(name) if dialect == "gpu" else _CF.get(name) if dialect == "cf" else _math
    if write is None:
        raise _unknown(operation.name)
    for written in write(operation, writer):
        opens = written.endswith("{")
        yield match["indent"] + written + ("" if opens else match["location"] or "")


def _operation(match: re.Match[str]) -> GenericOperation:
    results = match["results"] or ""
    name, _, count = results.partition(":")
    names = tuple(f"{name}#{i}" for i in range(int(count))) if count else (name,) if name else ()
    return GenericOperation(
        match["name"],
        names,
        tuple(re.findall(r"%[\w#]+", match["operands"])),
        match["properties"] or "",
        _types(match["types"]),
        _types(match["result_types"].removeprefix("(").removesuffix(")")),
        match["location"] or "",
    )


def _types(text: str) -> tuple[str, ...]:
    """Types between commas; brackets may hold more of them."""
    found, depth, start = [], 0, 0
    for index, character in enumerate(text + ","):
        depth += (character in "<([") - (character in ">)]")
        if character == "," and depth == 0:
            found.append(text[start:index].strip())
            start = index + 1
    return tuple(type_ for type_ in found if type_)


def _unknown(name: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"`{name}` cannot be lowered by Triton's own MLIR alone", hint="pip install 'tle_raw[mlir]'"
    )


# --- math -------------------------------------------------------------------------------------------------------


def _math(operation: GenericOperation, writer: _Writer) -> Iterator[str]:
    name = operation.name.removeprefix("math.")
    type_ = operation.types[0]
    vector = re.fullmatch(r"vector<(\d+)x(\w+)>", type_)
    if vector:
        yield from _each_lane(operation, writer, int(vector[1]))
    elif name in INTRINSICS:
        yield f"{operation.results[0]} = llvm.intr.{INTRINSICS[name]}({operation.operands[0]}) : ({type_}) -> {type_}"
    elif name in COUNTS:
        callee, flag = f'"llvm.intr.{COUNTS[name]}"', "<{is_zero_poison = false}>"
        yield f"{operation.results[0]} = {callee}({operation.operands[0]}) {flag} : ({type_}) -> {type_}"
    elif name == "absi" and type_ == "i32":
        yield from _call(operation, writer, "__nv_abs", ("i32",), "i32")
    elif name == "absi":
        flag = "<{is_int_min_poison = false}>"
        yield f'{operation.results[0]} = "llvm.intr.abs"({operation.operands[0]}) {flag} : ({type_}) -> {type_}'
    elif name == "fpowi" and type_ in ("f32", "f64") and operation.types[1] == "i32":
        yield from _call(operation, writer, function_name("powi", type_), (type_, "i32"), type_)
    elif name in TESTS and type_ in ("f32", "f64"):
        yield from _test(operation, writer, TESTS[name], type_)
    elif name in FUNCTIONS and type_ in (*_HALF, "f32", "f64"):
        yield from _libdevice(operation, writer, FUNCTIONS[name], type_)
    else:
        raise _unknown(f"{operation.name} : {type_}")


def _libdevice(operation: GenericOperation, writer: _Writer, base: str, type_: str) -> Iterator[str]:
    wide = "f32" if type_ in _HALF else type_
    callee = function_name(base, wide, operation.fastmath)
    if wide == type_:
        yield from _call(operation, writer, callee, (wide,) * len(operation.operands), wide)
        return
    operands = []
    for operand in operation.operands:
        operands.append(writer.name())
        yield f"{operands[-1]} = llvm.fpext {operand} : {type_} to {wide}"
    result = writer.name()
    wider = GenericOperation(operation.name, (result,), tuple(operands), "", (), ())
    yield from _call(wider, writer, callee, (wide,) * len(operands), wide)
    yield f"{operation.results[0]} = llvm.fptrunc {result} : {wide} to {type_}"


def _call(
    operation: GenericOperation, writer: _Writer, callee: str, types: tuple[str, ...], result: str
) -> Iterator[str]:
    listed = ", ".join(types)
    writer.declare(callee, f"llvm.func @{callee}({listed}) -> {result}")
    yield f"{operation.results[0]} = llvm.call @{callee}({', '.join(operation.operands)}) : ({listed}) -> {result}"


def _test(operation: GenericOperation, writer: _Writer, base: str, type_: str) -> Iterator[str]:
    """libdevice gives an int; its names for isfinite are not regular."""
    names = {"isnan": ("__nv_isnanf", "__nv_isnand"), "isinf": ("__nv_isinff", "__nv_isinfd")}
    callee = names.get(base, ("__nv_finitef", "__nv_isfinited"))[type_ == "f64"]
    result = writer.name()
    integer = GenericOperation(operation.name, (result,), operation.operands, "", (), ())
    yield from _call(integer, writer, callee, (type_,), "i32")
    zero, line = writer.constant(0)
    yield line
    yield f'{operation.results[0]} = llvm.icmp "ne" {result}, {zero} : i32'


def _each_lane(operation: GenericOperation, writer: _Writer, lanes: int) -> Iterator[str]:
    def element(type_: str) -> str:
        return re.sub(r"vector<\d+x(\w+)>", r"\1", type_)

    result_type = operation.result_types[0]
    result = writer.name()
    yield f"{result} = llvm.mlir.poison : {result_type}"
    for lane in range(lanes):
        place, line = writer.constant(lane, "i64")
        yield line
        operands = []
        for operand, type_ in zip(operation.operands, operation.types):
            operands.append(writer.name())
            yield f"{operands[-1]} = llvm.extractelement {operand}[{place} : i64] : {type_}"
        value = writer.name()
        types = tuple(map(element, operation.types))
        one = GenericOperation(
            operation.name, (value,), tuple(operands), operation.properties, types, (element(result_type),)
        )
        yield from _math(one, writer)
        previous, result = result, operation.results[0] if lane == lanes - 1 else writer.name()
        yield f"{result} = llvm.insertelement {value}, {previous}[{place} : i64] : {result_type}"


# --- gpu --------------------------------------------------------------------------------------------------------


def _register(register: str) -> Callable[[GenericOperation, _Writer], Iterator[str]]:
    def write(operation: GenericOperation, writer: _Writer) -> Iterator[str]:
        name = writer.name()
        dimension = re.search(r"#gpu<dim (\w)>", operation.properties)
        suffix = f".{dimension[1]}" if dimension else ""
        yield f"{name} = nvvm.read.ptx.sreg.{register}{suffix} : i32"
        yield f"{operation.results[0]} = arith.index_cast {name} : i32 to index"

    return write


def _barrier(operation: GenericOperation, writer: _Writer) -> Iterator[str]:
    yield "nvvm.barrier"


def _shuffle(operation: GenericOperation, writer: _Writer) -> Iterator[str]:
    """As CUDA's: the mask holds the first ``width`` lanes; a lane without a partner keeps its value, not valid."""
    type_ = operation.types[0]
    mode = re.search(r"#gpu<shuffle_mode (\w+)>", operation.properties)
    if mode is None or type_ not in ("i32", "f32") or len(operation.results) != 2:
        raise _unknown(f"{operation.name} : {type_}")
    value, offset, width = operation.operands
    names = [writer.name() for _ in range(4)]
    (one, one_line), (all_, all_line), (warp, warp_line) = (
        writer.constant(1), writer.constant(-1), writer.constant(32)
    )  # fmt: skip
    yield from (one_line, all_line, warp_line)
    unused, mask, clamp, both = names
    yield f"{unused} = llvm.sub {warp}, {width} : i32"
    yield f"{mask} = llvm.lshr {all_}, {unused} : i32"
    if mode[1] == "up":
        yield f"{clamp} = llvm.sub {warp}, {width} : i32"
    else:
        yield f"{clamp} = llvm.sub {width}, {one} : i32"
    struct = f"!llvm.struct<({type_}, i1)>"
    base = operation.results[0].partition("#")[0]
    value_out, valid = writer.name(), writer.name()
    yield f"{base}:2 = scf.execute_region -> ({type_}, i1) {{"
    yield (
        f"  {both} = nvvm.shfl.sync {_SHUFFLES[mode[1]]} {mask}, {value}, {offset}, {clamp} "
        f"{{return_value_and_is_valid}} : {type_} -> {struct}"
    )
    yield f"  {value_out} = llvm.extractvalue {both}[0] : {struct}"
    yield f"  {valid} = llvm.extractvalue {both}[1] : {struct}"
    yield f"  scf.yield {value_out}, {valid} : {type_}, i1"
    yield "}"


def _printf(operation: GenericOperation, writer: _Writer) -> Iterator[str]:
    """``vprintf`` takes a struct of the values, floats widened as C does."""
    match = re.search(r'format = "((?:[^"\\]|\\.)*)"', operation.properties)
    if match is None:
        raise _unknown(operation.name)
    address, line = writer.string(match[1])
    yield line
    values: list[tuple[str, str]] = []
    for operand, type_ in zip(operation.operands, operation.types):
        if type_ in ("f16", "bf16", "f32"):
            values.append((writer.name(), "f64"))
            yield f"{values[-1][0]} = llvm.fpext {operand} : {type_} to f64"
        elif type_ == "index":
            values.append((writer.name(), "i64"))
            yield f"{values[-1][0]} = arith.index_cast {operand} : index to i64"
        elif type_ in ("i1", "i8", "i16"):
            values.append((writer.name(), "i32"))
            yield f"{values[-1][0]} = llvm.{'zext' if type_ == 'i1' else 'sext'} {operand} : {type_} to i32"
        else:
            values.append((operand, type_))
    if values:
        struct = f"!llvm.struct<({', '.join(type_ for _, type_ in values)})>"
        (one, one_line), packed = writer.constant(1, "i64"), writer.name()
        writer.claimed += [one_line, f"{packed} = llvm.alloca {one} x {struct} : (i64) -> !llvm.ptr"]
        for index, (value, type_) in enumerate(values):
            slot = writer.name()
            yield f"{slot} = llvm.getelementptr {packed}[0, {index}] : (!llvm.ptr) -> !llvm.ptr, {struct}"
            yield f"llvm.store {value}, {slot} : {type_}, !llvm.ptr"
    else:
        packed = writer.name()
        yield f"{packed} = llvm.mlir.zero : !llvm.ptr"
    writer.declare("vprintf", "llvm.func @vprintf(!llvm.ptr, !llvm.ptr) -> i32")
    yield f"{writer.name()} = llvm.call @vprintf({address}, {packed}) : (!llvm.ptr, !llvm.ptr) -> i32"


def _assert(operation: GenericOperation, writer: _Writer) -> Iterator[str]:
    match = re.search(r'msg = "((?:[^"\\]|\\.)*)"', operation.properties)
    (true, true_line), failed = writer.constant(1, "i1"), writer.name()
    yield true_line
    yield f"{failed} = llvm.xor {operation.operands[0]}, {true} : i1"
    yield f"scf.if {failed} {{"
    found = _line(operation, writer)
    message, message_line = writer.string(match[1] if match else "")
    file, file_line = writer.string(found[0])
    function, function_line = writer.string(writer.function)
    (line, line_text), (size, size_text) = writer.constant(int(found[1])), writer.constant(1, "i64")
    for text in (message_line, file_line, function_line, line_text, size_text):
        yield f"  {text}"
    types = "!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64"
    writer.declare("__assertfail", f"llvm.func @__assertfail({types})")
    yield f"  llvm.call @__assertfail({message}, {file}, {line}, {function}, {size}) : ({types}) -> ()"
    yield "}"


def _line(operation: GenericOperation, writer: _Writer) -> tuple[str, str]:
    """File and line of an operation's location."""
    alias = re.search(r"#loc\d*", operation.location)
    text = writer.places.get(alias[0], "") if alias else operation.location
    match = re.search(r'"((?:[^"\\]|\\.)*)":(\d+):\d+', text)
    return (match[1], match[2]) if match else ("(unknown)", "0")


_GPU: dict[str, Callable[[GenericOperation, _Writer], Iterator[str]]] = {
    **{name: _register(register) for name, register in _DIMENSIONS.items()},
    "lane_id": _register("laneid"),
    "barrier": _barrier,
    "shuffle": _shuffle,
    "printf": _printf,
}
_CF: dict[str, Callable[[GenericOperation, _Writer], Iterator[str]]] = {"assert": _assert}
SUPPORTED = frozenset(
    f"{dialect}.{name}"
    for dialect, names in (
        ("gpu", {*_GPU, "module"}),
        ("cf", {*_CF, "br", "cond_br", "switch"}),
        ("math", {*FUNCTIONS, *INTRINSICS, *COUNTS, *TESTS, "absi", "fpowi"}),
    )
    for name in names
)
