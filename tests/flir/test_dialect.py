"""The TLE dialect: what is printed is valid upstream MLIR, broken regions are refused, the documentation is whole."""

from dataclasses import replace

import pytest
import triton
import triton.language as tl

import tle_raw
from tests.support import compile_kernel
from tle_raw import Const, Element, InOut, Input, Out, Pointer, Scalar, Tile
from tle_raw.errors import RegionError
from tle_raw.flir.dialect.definitions import BY_NAME, CALL, DSL_REGION, OPERATIONS, PACK, TERMINATOR, YIELD
from tle_raw.flir.dialect.document import document
from tle_raw.flir.dialect.irdl import irdl_text
from tle_raw.flir.dialect.operations import SsaValue, SymbolName, TleOperation, verify
from tle_raw.flir.dialect.print_operations import custom_form, generic_form
from tle_raw.flir.dialect.show_regions import regions_of, show_regions

SOURCE = r"""
#include <tle_raw/tile.h>
template <typename T, int M, int K>
__device__ float split(tle::tile<T, M> a, tle::tile<T, M> b, const float* p) {
  for (int i = threadIdx.x; i < M; i += blockDim.x) b[i] = a[i] * K + p[i];
  return K;
}
__device__ void described(float* allocated, float* t, long long offset, long long rows, long long columns,
                          long long step, long long stride, int n) {
  for (int i = threadIdx.x; i < rows * columns; i += blockDim.x) t[i] += n;
}
__device__ float cubed(float x) { return x * x * x; }
namespace mine { __device__ int block_size() { return blockDim.x; } }
"""


@tle_raw.dialect("cuda", source=SOURCE)
def split(a: InOut[Tile["T", "M"]], b: Out[Tile["T", "M"]], p: Pointer["f32"], k: Const["K"]) -> Scalar["f32"]: ...


@tle_raw.dialect("cuda", source=SOURCE)
def described(t: InOut["memref<?x?xf32, 3>"], n: Input["i32"]): ...


@tle_raw.dialect("cuda", source=SOURCE)
def cubed(x: Element["f32"]) -> Element["f32"]: ...


@tle_raw.dialect("cuda", source=SOURCE, symbol="mine::block_size", inline=False)
def block_size() -> Scalar["i32"]: ...


@triton.jit
def every_kind(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    a, b, k = split(tl.load(x + i), x, 3)
    if n > 2:
        a = tl.reshape(described(tl.reshape(a, (8, B // 8)), n), (B,))
    tl.store(o + i, cubed(a + b) + k + block_size())


@triton.jit
def plain(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i) * n)


TYPES = {"x": "*fp32", "o": "*fp32", "n": "i32"}


@pytest.fixture(scope="module")
def compiled():
    return compile_kernel(every_kind, TYPES, {"B": 64})


@pytest.fixture(scope="module")
def regions(compiled):
    return regions_of(compiled.asm["ttir"])


def parse_upstream(text, dialect=""):
    """Parse and verify with upstream MLIR, the dialect registered; Triton's own operations stay unknown."""
    ir = pytest.importorskip("torch_mlir.ir")
    from torch_mlir.dialects import irdl

    with ir.Context() as context, ir.Location.unknown():
        if dialect:
            irdl.load_dialects(ir.Module.parse(dialect))
            for definition in OPERATIONS:
                if TERMINATOR in definition.traits and definition.full_name.split(".")[1] in dialect:
                    ir.IsTerminatorTrait.attach(definition.full_name)
        context.allow_unregistered_dialects = not dialect or "!tt." in text
        module = ir.Module.parse(text)
        assert module.operation.verify()
        return str(module)


def as_function(region):
    region = replace(region, location="", body=tuple(replace(o, location="") for o in region.body))
    arguments = dict.fromkeys(f"{o.name}: {o.type}" for o in region.operands)
    return f"func.func @f({', '.join(arguments)}) {{\n" + "\n".join(generic_form(region)) + "\nreturn\n}"


# --- printing --------------------------------------------------------------------------------------------------


def test_every_operation_is_shown_in_readable_form_with_locations(compiled):
    text = show_regions(compiled.asm["ttir"])
    shown = {word.strip('"') for word in text.split() if word.startswith("tle.")}
    assert shown == set(BY_NAME)
    assert "tt.extern_elementwise" not in text
    assert all("loc(" in line for line in text.splitlines() if "tle." in line and not line.endswith("{"))
    assert 'tle.call @"mine::block_size" {noinline} : -> i32' in text
    assert "%tle.t.size1, %tle.t.stride0, %tle.t.stride1 = tle.extract_descriptor" in text


def test_a_module_without_regions_is_shown_as_it_is():
    ttir = compile_kernel(plain, TYPES, {"B": 64}).asm["ttir"]
    assert show_regions(ttir) == ttir


def test_the_generic_form_of_a_whole_module_parses_upstream(compiled, tmp_path):
    from triton._C.libtriton import ir
    from triton._C.libtriton import ir as triton_ir
    from triton.backends.compiler import GPUTarget
    from triton.backends.nvidia.compiler import CUDABackend

    from tle_raw.linker.mlir.generic_form import generic_text

    context = ir.context()
    ir.load_dialects(context)
    CUDABackend(GPUTarget("cuda", 90, 32)).load_dialects(context)
    file = tmp_path / "kernel.ttir"
    file.write_text(compiled.asm["ttir"])
    module = ir.parse_mlir_module(str(file), context)
    module.context = context
    parsed = parse_upstream(show_regions(generic_text(module, triton_ir)))
    assert parsed.count('"tle.dsl_region"') == 4


def test_each_region_verifies_upstream_against_the_registered_dialect(regions):
    for region in regions:
        parsed = parse_upstream(as_function(region), irdl_text(region))
        assert parsed.count('"tle.call"') == 1


def test_strings_are_escaped_as_mlir_does():
    region = TleOperation(
        DSL_REGION,
        attributes={"dialect": 'a"\\\n', "function": SymbolName("a<b>"), "fragment": "f", "effects": ()},
        body=(TleOperation(CALL, attributes={"callee": SymbolName("a<b>")}), TleOperation(YIELD)),
    )
    assert '"a\\22\\5C\\0A" @"a<b>"' in custom_form(verify(region))[0]
    parse_upstream(as_function(region), irdl_text(region))


# --- broken regions ----------------------------------------------------------------------------------------------

F32 = SsaValue("%x", "f32")


def without(region, name):
    return replace(region, attributes={k: v for k, v in region.attributes.items() if k != name})


def with_(region, **attributes):
    return replace(region, attributes={**region.attributes, **attributes})


def with_body(region, change):
    return replace(region, body=tuple(change(list(region.body))))


def retyped(operation, type_):
    return replace(operation, results=(replace(operation.results[0], type=type_),))


BROKEN = {
    "no dialect": (lambda r: without(r, "dialect"), "attribute `dialect`", True),
    "no effects": (lambda r: without(r, "effects"), "attribute `effects`", True),
    "a dialect that is no string": (lambda r: with_(r, dialect=("cuda",)), "attribute `dialect`", True),
    "an unknown attribute": (lambda r: with_(r, colour="red"), "colour", False),
    "an effect too many": (lambda r: with_(r, effects=("In",) * 9), "effects", False),
    "an unknown effect": (lambda r: with_(r, effects=("In", "Both")), "effects", False),
    "no yield": (lambda r: with_body(r, lambda b: b[:-1]), "tle.yield", False),
    "two yields": (lambda r: with_body(r, lambda b: [*b, b[-1]]), "tle.yield", False),
    "an empty body": (lambda r: with_body(r, lambda b: []), "tle.yield", False),
    "no call": (lambda r: with_body(r, lambda b: [o for o in b if o.definition is not CALL]), "calls", False),
    "a call of another function": (lambda r: with_(r, function=SymbolName("other")), "calls", False),
    "a region in a region": (lambda r: with_body(r, lambda b: [r, *b]), "no other region|calls", False),
    "a block argument of another type": (lambda r: replace(r, arguments=(F32, F32)), "block arguments", False),
    "a value that is not there": (lambda r: with_body(r, lambda b: b[1:]), "value of this region", True),
    "a tile of another shape": (
        lambda r: with_body(r, lambda b: [retyped(b[0], "memref<2xf32, 3>"), *b[1:]]),
        "shape and elements",
        False,
    ),
    "a tile in global memory": (
        lambda r: with_body(r, lambda b: [retyped(b[0], "memref<64xf32, 1>"), *b[1:]]),
        "memory space 3",
        False,
    ),
    "a tensor where a tile belongs": (
        lambda r: with_body(r, lambda b: [retyped(b[0], "tensor<64xf32>"), *b[1:]]),
        "memory space 3",
        True,
    ),
    "an address of 64 bits": (
        lambda r: with_body(r, lambda b: [b[0], retyped(b[1], "i64"), *b[2:]]),
        "i32",
        True,
    ),
    "a result that is not yielded": (lambda r: replace(r, results=(*r.results, F32)), "yielded", False),
    "an operand of pack too many": (
        lambda r: with_body(r, lambda b: [replace(b[0], operands=b[0].operands * 2), *b[1:]]),
        "operands",
        True,
    ),
}


@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.every_triton(6)
def test_a_broken_region_is_refused(regions, what):
    change, words, _ = BROKEN[what]
    with pytest.raises(RegionError, match=words):
        verify(change(regions[0]))


@pytest.mark.parametrize("what", [what for what, (_, _, upstream) in BROKEN.items() if upstream])
def test_upstream_refuses_it_too(regions, what):
    ir = pytest.importorskip("torch_mlir.ir")
    with pytest.raises(ir.MLIRError, match=r"expect|SSA value|prior use"):
        parse_upstream(as_function(BROKEN[what][0](regions[0])), irdl_text(regions[0]))


def test_a_descriptor_has_as_many_parts_as_its_rank_asks_for(regions):
    region = next(r for r in regions if r.attributes["fragment"] == "described")
    extract = region.body[1]
    with pytest.raises(RegionError, match="results  7 "):
        verify(replace(extract, results=extract.results[:-1]))


def test_an_operation_of_no_definition_is_refused():
    with pytest.raises(RegionError, match="no operation of the TLE dialect"):
        verify(TleOperation(replace(PACK, name="squeeze")))


# --- documentation -----------------------------------------------------------------------------------------------


def test_the_documentation_has_every_operation_with_all_its_parts():
    text = document()
    for definition in OPERATIONS:
        section = text.split(f"## `{definition.full_name}`")[1].split("\n## ")[0]
        parts = [*definition.operands, *definition.results, *definition.attributes]
        assert all(f"`{part.name}`" in section for part in parts)
        assert definition.full_name in definition.example and definition.example.strip() in section


def test_the_example_of_a_region_is_what_the_printer_prints():
    x, n = SsaValue("%x", "tensor<64x64xf32>"), SsaValue("%n", "i32")
    t, m = SsaValue("%tle.t", x.type), SsaValue("%tle.n", "i32")
    tile, address = SsaValue("%tle.t.tile", "memref<64x64xf32, 3>"), SsaValue("%tle.t.address", "i32")
    out = SsaValue("%tle.t.out", x.type)
    by_name = {d.name: d for d in OPERATIONS}
    body = (
        TleOperation(by_name["pack"], (t,), (tile,)),
        TleOperation(by_name["extract_address"], (tile,), (address,)),
        TleOperation(CALL, (address, m), (), {"callee": SymbolName("tile_scale")}),
        TleOperation(by_name["unpack"], (tile,), (out,)),
        TleOperation(YIELD, (out,)),
    )
    attributes = {
        "dialect": "cuda",
        "function": SymbolName("tile_scale"),
        "fragment": "tile_scale",
        "effects": ("InOut", "In"),
        "names": {"M": 64, "N": 64},
    }
    region = TleOperation(DSL_REGION, (x, n), (SsaValue("%y", x.type),), attributes, (t, m), body)
    assert "\n".join(custom_form(verify(region))) == DSL_REGION.example.strip()
