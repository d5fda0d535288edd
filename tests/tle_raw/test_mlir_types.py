"""Parameter types in MLIR's spelling: in annotations, and read for adapters."""

from typing import Literal

import pytest

from tle_raw import Const, In, InOut, Input, Num, Out, Pointer, Scalar, Tile
from tle_raw.errors import ArgumentTypeError, ShapeError, SignatureError
from tle_raw.fragments.annotations import signature_of
from tle_raw.fragments.argument import Argument
from tle_raw.fragments.binding import bind
from tle_raw.fragments.bound import POINTER, SCALAR, TILE, bound_from_json
from tle_raw.fragments.dtypes import DTYPES
from tle_raw.fragments.mlir_types import element_type, memref_type, parameter_type

pytestmark = pytest.mark.one_triton
F32, I32, I64 = DTYPES["f32"], DTYPES["i32"], DTYPES["i64"]


@pytest.mark.parametrize(
    ("text", "dtype", "dims"),
    [
        ("memref<?xf32, 3>", "f32", ("a_0",)),
        ("memref<64x32xf16, 3>", "f16", (64, 32)),
        ("memref<?x?xbf16,3>", "bf16", ("a_0", "a_1")),
        (" memref< ? x 16 x i8 , 3 : i32 > ", "i8", ("a_0", 16)),
        ("memref<8x4x2x1xf64, #gpu.address_space<workgroup>>", "f64", (8, 4, 2, 1)),
        ("memref<64x32xf32, strided<[32, 1]>, 3>", "f32", (64, 32)),
        ("memref<?x32xf32, strided<[32, 1], offset: 0>, 3>", "f32", ("a_0", 32)),
        ("memref<?x?xf32, strided<[?, 1]>, 3>", "f32", ("a_0", "a_1")),
        ("memref<?x?xf16,strided<[?, ?], offset: ?>, 3>", "f16", ("a_0", "a_1")),
        ("memref<?xf8E4M3FN, 3>", "f8e4m3", ("a_0",)),
        ("memref<?xf8E5M2, 3>", "f8e5m2", ("a_0",)),
        ("memref<?xi1, 3>", "i1", ("a_0",)),
        ("memref<?xui16, 3>", "u16", ("a_0",)),
    ],
)
def test_a_memref_in_shared_memory_is_a_tile(text, dtype, dims):
    type_ = parameter_type(text, "a")
    assert type_ == Tile(DTYPES[dtype], dims, text.strip())
    assert str(type_) == text.strip()


@pytest.mark.parametrize(
    ("text", "dtype"), [("i1", "i1"), ("i32", "i32"), ("f8E5M2", "f8e5m2"), ("bf16", "bf16"), ("index", "i64")]
)
def test_a_plain_type_is_a_scalar(text, dtype):
    assert parameter_type(text, "n") == Scalar(DTYPES[dtype], text)


@pytest.mark.parametrize("text", ["!llvm.ptr", "!llvm.ptr<1>", "!llvm.ptr< 0 >"])
def test_a_pointer_has_a_dtype_that_the_call_binds(text):
    type_ = parameter_type(text, "p")
    assert type_ == Pointer("p_T", text)
    bound = bind(_signature(p=Input[text]), {"p": Argument(POINTER, F32)})
    assert (bound.names, bound.parameters[0].spelling) == ((("p_T", F32),), text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("memref<8x4xf32, strided<[?, 2]>, 3>", "other strides"),
        ("memref<8x4xf32, strided<[1, 8]>, 3>", "other strides"),
        ("memref<8xf32, strided<[1], offset: 4>, 3>", "other strides"),
        ("memref<8x4xf32, affine_map<(d0, d1) -> (d1, d0)>, 3>", "layout `affine_map"),
        ("memref<?xf32>", "shared memory, memory space 3"),
        ("memref<?xf32, 1>", "memory space  *3  *1"),
        ("memref<?xf32, 3, 3>", "memory space  *3  *3, 3"),
        ("memref<*xf32, 3>", "nothing of its rank"),
        ("memref<f32, 3>", "1 to 4 dims"),
        ("memref<1x1x1x1x1xf32, 3>", "1 to 4 dims"),
        ("memref<24xf32, 3>", "power of two"),
        ("memref<0xf32, 3>", "power of two"),
        ("memref<?xvector<4xf32>, 3>", "no element type"),
        ("memref<?xf80, 3>", "no element type"),
        ("memref<?xindex, 3>", "no element type"),
        ("memref<?xf32, 3", "is no memref"),
        ("memref<", "is no memref"),
        ("memref<>", "no element type"),
        ("memref<?xf32, 3>>", "is no memref"),
        ("!llvm.ptr<3>", "memref<.xf32, 3>"),
        ("!llvm.ptr<5>", "address space"),
        ("!llvm.ptr<f32>", "no pointer type"),
        ("!tt.ptr<f32>", "!llvm.ptr<1>"),
        ("tensor<8xf32>", "memref"),
        ("vector<4xf32>", "does not cross"),
        ("i7", "no region takes"),
        ("", "no region takes"),
    ],
)
def test_what_cannot_cross_is_refused_with_the_reason(text, words):
    with pytest.raises(SignatureError, match="`a`") as e:
        parameter_type(text, "a")
    assert e.match(words)


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_has_a_memref(name):
    dtype = DTYPES[name]
    read = parameter_type(memref_type(dtype, (8, 4)), "a")
    assert read.dims == (8, 4)
    # MLIR's plain integers have no sign
    assert read.dtype == (DTYPES[f"i{dtype.bits}"] if dtype.is_integer else dtype)
    assert element_type(read.dtype) == element_type(dtype)


def _signature(**annotations):
    source = f"def stub({', '.join(annotations)}): ..."
    names: dict = {}
    exec(source, names)
    names["stub"].__annotations__ = annotations
    return signature_of(names["stub"])


def test_annotations_take_both_spellings_side_by_side():
    def f(
        a: InOut["memref<?x?xf32, 3>"], b: Input["memref<16xf16, 3>"], n: Num["i32"], p: In["!llvm.ptr<1>"],
        t: Input[Tile["f32", "M"]], o: Out["memref<8xf32, 3>"], k: Const["K"],
    ): ...  # fmt: skip

    signature = signature_of(f)
    assert str(signature) == (
        "f(a: InOut[memref<?x?xf32, 3>], b: memref<16xf16, 3>, n: i32, p: !llvm.ptr<1>, t: Tile[f32, M], "
        "o: Out[memref<8xf32, 3>], k: Const[K])"
    )
    assert signature.names == ("a_0", "a_1", "p_T", "M", "K")
    assert [p.name for p in signature.returned] == ["a", "o"]


def test_flagtrees_literal_wrapper_is_taken():
    def f(a: InOut[Literal["memref<?xf32, 3>"]], p: Input[Literal["!llvm.ptr<1>"]]): ...

    assert str(signature_of(f)) == "f(a: InOut[memref<?xf32, 3>], p: !llvm.ptr<1>)"


def test_an_error_in_an_annotation_names_the_parameter():
    def f(a: InOut["memref<?xf32, 3>"], b: Input["memref<?xf32>"]): ...

    with pytest.raises(SignatureError, match="`b`"):
        signature_of(f)


def test_a_scalar_in_mlirs_spelling_can_only_be_in():
    def f(n: InOut["i32"]): ...

    with pytest.raises(SignatureError, match="can only be In"):
        signature_of(f)


def test_binding_keeps_the_authors_spelling():
    signature = _signature(a=InOut["memref<?x4xf32, 3>"], n=Input["index"], t=Tile["f32", "M"])
    arguments = {"a": Argument(TILE, F32, (8, 4)), "n": Argument(SCALAR, I64), "t": Argument(TILE, F32, (8,))}
    bound = bind(signature, arguments)
    assert [p.spelling for p in bound.parameters] == ["memref<?x4xf32, 3>", "index", ""]
    assert [p.is_memref for p in bound.parameters] == [True, False, False]
    assert bound.names == (("a_0", 8), ("M", 8))
    assert bound_from_json(bound.to_json()) == bound


def test_a_misfit_shows_the_authors_spelling():
    signature = _signature(a=InOut["memref<?x4xf32, 3>"])
    with pytest.raises(ArgumentTypeError, match=r"memref<\?x4xf32, 3>  Tile\[f16, 8, 4\]"):
        bind(signature, {"a": Argument(TILE, DTYPES["f16"], (8, 4))})
    with pytest.raises(ShapeError, match=r"memref<\?x4xf32, 3>  Tile\[f32, 4, 8\]"):
        bind(signature, {"a": Argument(TILE, F32, (4, 8))})
