"""What kernels on the CPU take as arguments, and what they say of everything else."""

import ctypes
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import triton
import triton.language as tl

pytest.importorskip("cffi")
pytest.importorskip("llvmlite")
pytest.importorskip("torch_mlir")

from tests.support import TRITON
from tle_raw.errors import LaunchError
from tle_raw.targets.cpu.arrays import ANYWHERE, Kind, Range, kind_of, memory_of
from tle_raw.targets.cpu.slots import Slots

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@triton.jit
def copy(source, target, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + i, tl.load(source + i, i < n), i < n)


@triton.jit
def fill(target, value):
    tl.store(target + tl.program_id(0), value)


@triton.jit
def read_only(source: tl.const, target):
    tl.store(target, tl.load(source))


@triton.jit
def sum_pair(pair, target):
    tl.store(target, tl.load(pair[0]) + pair[1])


def copied(source, n=None):
    target = np.zeros_like(source)
    copy[(1,)](source, target, source.size if n is None else n, 64)
    return target


@pytest.mark.parametrize("dtype", [*INTEGERS, "float16", "float32", "float64", "bool"])
@pytest.mark.every_triton(4)
def test_a_numpy_array_of_every_dtype_is_taken(dtype):
    source = (np.arange(50) % 7).astype(dtype)
    assert (copied(source) == source).all()


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_a_numpy_array_of_ml_dtypes_is_taken(dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    source = np.arange(8).astype(getattr(ml_dtypes, dtype))
    assert (copied(source).view("u1") == source.view("u1")).all()


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"]
)
@pytest.mark.every_triton(3)
def test_a_torch_tensor_is_taken(dtype):
    torch = pytest.importorskip("torch")
    source = torch.arange(50).to(getattr(torch, dtype))
    target = torch.zeros_like(source)
    copy[(1,)](source, target, 50, 64)
    assert torch.equal(source.view(torch.uint8), target.view(torch.uint8))


def test_an_array_passed_by_dlpack_is_taken():
    array = np.zeros(4, np.float32)
    foreign = SimpleNamespace(__dlpack__=array.__dlpack__, __dlpack_device__=array.__dlpack_device__)

    class Foreign:
        __dlpack__ = staticmethod(array.__dlpack__)
        __dlpack_device__ = staticmethod(array.__dlpack_device__)

    assert kind_of(foreign) is kind_of(Foreign()) is Kind.FOREIGN_ARRAY
    fill[(4,)](Foreign(), 2.0)
    assert (array == 2).all()


def test_a_view_passes_its_own_first_element():
    whole = np.zeros(10, np.float32)
    fill[(3,)](whole[4:], 1.0)
    assert whole.tolist() == [0] * 4 + [1] * 3 + [0] * 3


def test_an_array_that_is_not_aligned_is_taken():
    raw = np.zeros(4 * 50 + 1, np.uint8)
    source = raw[1:].view(np.float32)
    source[:] = np.arange(50)
    assert source.ctypes.data % 4 and (copied(source) == np.arange(50)).all()


def test_the_same_array_may_be_passed_twice():
    array = np.arange(64, dtype=np.int32)
    copy[(1,)](array, array, 64, 64)
    assert (array == np.arange(64)).all()


def test_an_empty_array_is_taken():
    assert copied(np.zeros(0, np.float32)).size == 0


@pytest.mark.parametrize(
    "value", [3, -3, 2**40, 2.5, True, np.float32(2.5), np.int16(-4), np.float64(0.1), np.bool_(True)]
)
@pytest.mark.every_triton(3)
def test_numbers_of_python_and_of_numpy_are_taken(value):
    target = np.zeros(1, np.float64)
    fill[(1,)](target, value)
    assert target[0] == np.float64(np.float32(value) if isinstance(value, (float, np.floating)) else value)


def test_a_pointer_that_is_none_is_no_memory():
    @triton.jit
    def is_given(pointer, target):
        if pointer is None:
            tl.store(target, 1)
        else:
            tl.store(target, 2)

    target = np.zeros(1, np.int32)
    is_given[(1,)](None, target)
    assert target[0] == 1


def test_a_tuple_may_hold_arrays():
    target = np.zeros(1, np.float32)
    sum_pair[(1,)]((np.full(1, 3, np.float32), 4), target)
    assert target[0] == 7


def test_a_named_tuple_stays_one():
    class Pair(NamedTuple):
        pointer: object
        number: int

    @triton.jit
    def sum_named(pair, target):
        tl.store(target, tl.load(pair.pointer) + pair.number)

    target = np.zeros(1, np.float32)
    sum_named[(1,)](Pair(np.full(1, 3, np.float32), 4), target)
    assert target[0] == 7


def test_the_grid_sees_the_arrays_themselves():
    array = np.zeros(5, np.int32)
    fill[lambda meta: (meta["target"].size,)](array, 1)
    assert array.all()


def test_a_descriptor_made_on_the_host_is_taken():
    torch = pytest.importorskip("torch")
    from triton.tools.tensor_descriptor import TensorDescriptor

    @triton.jit
    def copy_tile(source, target):
        target.store([4, 0], source.load([0, 8]))

    source, target = torch.arange(256.0).reshape(16, 16), torch.zeros(16, 16)
    copy_tile[(1,)](TensorDescriptor.from_tensor(source, [4, 8]), TensorDescriptor.from_tensor(target, [4, 8]))
    assert torch.equal(target[4:8, :8], source[:4, 8:])
    assert target.count_nonzero() == 32


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: np.zeros(4, complex), "dtype .*complex128"),
        (lambda: np.array([object()]), "dtype .*object"),
        (lambda: np.array(["text"]), "dtype .*<U4"),
        (lambda: np.zeros(4, "M8[s]"), "dtype .*datetime64"),
        (lambda: np.zeros(4, [("a", "f4")]), "dtype .*a"),
        (lambda: np.zeros(4, ">f4"), "other order"),
        (lambda: np.broadcast_to(np.zeros(1), (4,)), "read-only"),
    ],
)
def test_an_array_that_no_kernel_can_use_is_named(make, says):
    with pytest.raises(LaunchError, match=f"(?s)argument `target`.*{says}"):
        fill[(1,)](make(), 1)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda torch: torch.zeros(4, dtype=torch.complex64), "dtype .*complex64"),
        (lambda torch: torch.zeros(4, device="meta"), "meta"),
        (lambda torch: torch.eye(3).to_sparse(), "no memory.*sparse"),
    ],
)
def test_a_tensor_that_no_kernel_can_use_is_named(make, says):
    torch = pytest.importorskip("torch")
    with pytest.raises(LaunchError, match=f"(?s)argument `target`.*{says}"):
        fill[(1,)](make(torch), 1)


def test_memory_of_another_device_is_named():
    class OnGpu:
        dtype = np.dtype("f4")
        device = SimpleNamespace(type="cuda", __str__=lambda self: "cuda:0")

        def data_ptr(self):
            return 16

    with pytest.raises(LaunchError, match=r"cannot reach this memory(?s:.*)\.cpu\(\)"):
        fill[(1,)](OnGpu(), 1)

    class ByDlpack:
        def __dlpack__(self, **more):
            raise AssertionError

        def __dlpack_device__(self):
            return (2, 0)

    with pytest.raises(LaunchError, match="cannot reach this memory"):
        fill[(1,)](ByDlpack(), 1)


def test_a_read_only_array_is_taken_where_the_kernel_says_that_it_only_reads():
    source, target = np.full(1, 5, np.float32), np.zeros(1, np.float32)
    source.flags.writeable = False
    read_only[(1,)](source, target)
    assert target[0] == 5


def test_a_list_is_no_array():
    with pytest.raises(TypeError, match="list"):
        fill[(1,)]([1, 2], 1)


def test_a_missing_argument_is_tritons_error():
    with pytest.raises(TypeError, match="missing"):
        fill[(1,)](np.zeros(1))


SIGNATURE = {"p": "*fp32", "a": "i1", "b": "i8", "c": "u16", "d": "i32", "e": "u64", "C": "constexpr", "f": "bf16"}


def test_each_argument_lies_in_its_slot():
    array = np.zeros(1, np.float32)
    packed = Slots(SIGNATURE).pack((array, True, -1, 65535, -2, 2**64 - 1, "constant", 1.0))
    slots = np.frombuffer(packed, np.uint64)
    assert slots.tolist() == [array.ctypes.data, 1, 0xFF, 0xFFFF, 0xFFFFFFFE, 2**64 - 1, 0x3F80]


@pytest.mark.parametrize(
    ("type", "value"), [("i8", 128), ("u8", -1), ("i32", 2**31), ("i32", 1.5), ("fp32", "x"), ("i32", None)]
)
def test_a_number_that_does_not_fit_its_parameter_is_named(type, value):
    with pytest.raises(LaunchError, match="argument `x` does not fit its parameter"):
        Slots({"x": type}).pack((value,))


def test_bfloat16_rounds_to_nearest_even():
    slots = Slots({"x": "bf16"})
    for value, bits in ((1.0, 0x3F80), (1.00390625, 0x3F80), (1.01171875, 0x3F82), (float("inf"), 0x7F80)):
        assert slots.pack((value,))[:2] == bits.to_bytes(2, "little")
    assert slots.pack((float("nan"),))[:2] == (0x7FC0).to_bytes(2, "little")


def test_tuples_and_descriptors_become_slots_of_their_own():
    slots = Slots({"t": ("*fp32", ("i32", "constexpr")), "d": "tensordesc<fp16[4,8]>"})
    flags = ["i1", "i1"] if TRITON >= (3, 7) else ["i1"]
    kinds = ["*fp32", "i32", "*fp16", *["i64"] * 4, *flags, *["i32"] * 2, *["i64"] * 2]
    assert [p.type for p in slots.parameters] == kinds


def test_a_type_that_is_not_known_is_named():
    with pytest.raises(LaunchError, match=r"argument `x`.*nvTmaDesc"):
        Slots({"x": "nvTmaDesc"})


def test_the_memory_of_an_array_is_that_of_its_elements():
    array = np.zeros((4, 8), np.float32)
    start = array.ctypes.data
    assert memory_of(array) == Range(start, start + 128)
    assert memory_of(array[1:3, 2]) == Range(start + 40, start + 76)
    assert memory_of(array[::-1]) == Range(start, start + 128)
    assert memory_of(array[:0]) == Range(start, start)
    assert memory_of(None) == Range(0, 0)
    assert memory_of(ctypes.addressof(ctypes.c_int())) == ANYWHERE


def test_the_memory_of_a_tensor_is_that_of_its_elements():
    torch = pytest.importorskip("torch")
    tensor = torch.zeros(4, 8)
    start = tensor.data_ptr()
    assert memory_of(tensor.t()) == Range(start, start + 128)
    assert memory_of(tensor[1, 2:4]) == Range(start + 40, start + 48)
    assert memory_of(triton.reinterpret(tensor, torch.int32)) == Range(start, start + 128)
    empty = memory_of(tensor[:0])
    assert empty.start == empty.end
