"""The operations of the TLE dialect, as data: everything else about them is derived from this."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

NAME = "tle"
SUMMARY = """
Device code of another language inside a Triton kernel. A `tle.dsl_region` is one call of a fragment: its body says how
each operand crosses, which function is called, and what comes back. The rest of the module is Triton's own IR.

The dialect is a view: regions travel through Triton's passes as port markers (`tt.extern_elementwise` operations), and
`kernel.asm["tle"]` shows what they stand for, after Triton's passes on its IR and before FLIR lowers them.
"""


@dataclass(frozen=True)
class Constraint:
    """A set of types: its words, a test of a type's text, and what IRDL can say of it."""

    doc: str
    holds: Callable[[str], bool]
    irdl: str = "irdl.any"


ANY = Constraint("any type", lambda type_: bool(type_))
TENSOR = Constraint("a block tensor", lambda type_: type_.startswith("tensor<"), 'irdl.base "!builtin.tensor"')
SHARED = Constraint(
    "a row-major memref of static shape in shared memory (memory space 3)",
    lambda type_: re.fullmatch(r"memref<(\d+x)+\w+, 3>", type_) is not None,
    'irdl.base "!builtin.memref"',
)
ADDRESS = Constraint("i32", lambda type_: type_ == "i32", "irdl.is i32")
POINTER = Constraint("!llvm.ptr<3>", lambda type_: type_ == "!llvm.ptr<3>", "irdl.is !llvm.ptr<3>")
NUMBER = Constraint("i64", lambda type_: type_ == "i64", "irdl.is i64")


@dataclass(frozen=True)
class Slot:
    """Operands or results: one, or any number of them; only the last slot of an operation may be variadic."""

    name: str
    type: Constraint
    doc: str = ""
    variadic: bool = False


STRING, SYMBOL, STRINGS, DICTIONARY, UNIT = "string", "symbol", "array of strings", "dictionary", "unit"
IRDL_ATTRIBUTES = {
    STRING: 'irdl.base "#builtin.string"',
    SYMBOL: 'irdl.base "#builtin.symbol_ref"',
    STRINGS: 'irdl.base "#builtin.array"',
}


@dataclass(frozen=True)
class Attribute:
    """``positional`` ones are printed before the operands; optional ones may be absent."""

    name: str
    kind: str
    doc: str
    optional: bool = False
    positional: bool = False


TERMINATOR, ISOLATED, PURE = "Terminator", "IsolatedFromAbove", "Pure"
TRAITS = {
    TERMINATOR: "it ends a block",
    ISOLATED: "its region uses nothing from outside but its operands",
    PURE: "it has no effect but its results",
}


@dataclass(frozen=True)
class Definition:
    """One operation. ``region`` documents its one region of one block; it has none without."""

    name: str
    summary: str
    description: str
    operands: tuple[Slot, ...] = ()
    results: tuple[Slot, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    region: str = ""
    traits: tuple[str, ...] = ()
    example: str = ""

    @cached_property
    def full_name(self) -> str:
        return f"{NAME}.{self.name}"

    @cached_property
    def by_name(self) -> Mapping[str, Attribute]:
        """Its attributes."""
        return {each.name: each for each in self.attributes}


DSL_REGION = Definition(
    "dsl_region",
    "one call of a fragment",
    "All threads of the block run the function of a block-level region once, with a block barrier before and after "
    "it when tiles cross. An `elementwise` one runs it for each element of its operands, in registers; its block "
    "arguments are elements.",
    operands=(Slot("operands", ANY, "what is passed: the parameters that are not `Out`, in order", variadic=True),),
    results=(Slot("results", ANY, "the updated tiles in signature order, then the scalar", variadic=True),),
    attributes=(
        Attribute("dialect", STRING, "the language that the fragment is written in", positional=True),
        Attribute("function", SYMBOL, "the fragment's function, by its name in the source", positional=True),
        Attribute("fragment", STRING, "the fragment's name in Python"),
        Attribute("effects", STRINGS, "`In` or `InOut` for each operand; `Out` for an ignored element"),
        Attribute("names", DICTIONARY, "dims, dtypes and constants that the call bound", optional=True),
        Attribute("elementwise", UNIT, "the function is applied to each element", optional=True),
        Attribute("pure", UNIT, "equal calls may be merged, and unused ones dropped", optional=True),
    ),
    region="one block argument for each operand; it ends with `tle.yield`",
    traits=(ISOLATED,),
    example="""
%y = tle.dsl_region "cuda" @tile_scale (%tle.t = %x, %tle.n = %n) {fragment = "tile_scale", effects = ["InOut", "In"], \
names = {M = 64, N = 64}} : tensor<64x64xf32>, i32 -> tensor<64x64xf32> {
  %tle.t.tile = tle.pack %tle.t : tensor<64x64xf32> -> memref<64x64xf32, 3>
  %tle.t.address = tle.extract_address %tle.t.tile : memref<64x64xf32, 3> -> i32
  tle.call @tile_scale %tle.t.address, %tle.n : i32, i32
  %tle.t.out = tle.unpack %tle.t.tile : memref<64x64xf32, 3> -> tensor<64x64xf32>
  tle.yield %tle.t.out : tensor<64x64xf32>
}""",
)
PACK = Definition(
    "pack",
    "put a tensor into shared memory",
    "The tile is row-major, contiguous and 16-byte aligned. FLIR lets consecutive regions share one buffer where the "
    "tile is there already.",
    operands=(Slot("tensor", TENSOR),),
    results=(Slot("tile", SHARED),),
    example="%tle.t.tile = tle.pack %tle.t : tensor<64xf32> -> memref<64xf32, 3>",
)
ALLOCATE = Definition(
    "allocate",
    "shared memory for an `Out` tile",
    "Nothing is written to it before the call.",
    results=(Slot("tile", SHARED),),
    example="%tle.o.tile = tle.allocate : memref<64xf32, 3>",
)
EXTRACT_ADDRESS = Definition(
    "extract_address",
    "a tile as the address of its first element",
    "How a `Tile[...]` parameter crosses: 32 bits, in shared memory.",
    operands=(Slot("tile", SHARED),),
    results=(Slot("address", ADDRESS),),
    traits=(PURE,),
    example="%tle.t.address = tle.extract_address %tle.t.tile : memref<64xf32, 3> -> i32",
)
EXTRACT_DESCRIPTOR = Definition(
    "extract_descriptor",
    "a tile as an expanded memref descriptor",
    'How a `"memref<..., 3>"` parameter of rank r crosses: as 3 + 2r values.',
    operands=(Slot("tile", SHARED),),
    results=(
        Slot("allocated", POINTER),
        Slot("aligned", POINTER, "the same"),
        Slot("numbers", NUMBER, "offset 0, r sizes, r strides", variadic=True),
    ),
    traits=(PURE,),
    example="%tle.t.allocated, %tle.t.aligned, %tle.t.offset, %tle.t.size0, %tle.t.stride0 = tle.extract_descriptor "
    "%tle.t.tile : memref<64xf32, 3> -> !llvm.ptr<3>, !llvm.ptr<3>, i64, i64, i64",
)
CALL = Definition(
    "call",
    "call the fragment's function",
    "The function may read and write the tiles and the memory behind its pointers. It is inlined into the kernel.",
    operands=(Slot("arguments", ANY, variadic=True),),
    results=(Slot("result", ANY, "nothing or one value, equal in all threads", variadic=True),),
    attributes=(
        Attribute("callee", SYMBOL, "the function", positional=True),
        Attribute("noinline", UNIT, "it stays a call, as its declaration says", optional=True),
    ),
    example="%tle.return = tle.call @row_sum %tle.t.address, %tle.n : i32, i32 -> f32",
)
UNPACK = Definition(
    "unpack",
    "read a tile back from shared memory",
    "The result is a tensor of the same shape.",
    operands=(Slot("tile", SHARED),),
    results=(Slot("tensor", TENSOR),),
    example="%tle.t.out = tle.unpack %tle.t.tile : memref<64xf32, 3> -> tensor<64xf32>",
)
YIELD = Definition(
    "yield",
    "the results of a region",
    "It ends the body of a `tle.dsl_region`; its operands are the region's results, or one element of them.",
    operands=(Slot("results", ANY, variadic=True),),
    traits=(TERMINATOR,),
    example="tle.yield %tle.t.out, %tle.return : tensor<64xf32>, f32",
)

OPERATIONS = (DSL_REGION, PACK, ALLOCATE, EXTRACT_ADDRESS, EXTRACT_DESCRIPTOR, CALL, UNPACK, YIELD)
BY_NAME = {definition.full_name: definition for definition in OPERATIONS}
