"""Halves side by side in an integer become a vector, whatever the order of their parts; nothing else changes."""

import pytest

from tle_raw.linker.llvm.pack_halves import pack_halves
from tle_raw.linker.llvm.text import read_module

pytestmark = pytest.mark.one_triton

FRAME = "define i{bits} @f(i16 %a, i16 %b, i16 %c, i16 %d, i32 %w) {{\n{body}\n  ret i{bits} %r\n}}\n"

PAIR = """  %1 = zext i16 %b to i32, !dbg !3
  %2 = shl nuw i32 %1, 16, !dbg !3
  %3 = zext i16 %a to i32
  %r = or disjoint i32 %2, %3, !dbg !3"""
FOUR = """  %1 = zext i16 %d to i64
  %2 = shl nuw i64 %1, 48
  %3 = zext i16 %b to i64
  %4 = shl nuw nsw i64 %3, 16
  %5 = or disjoint i64 %2, %4
  %6 = zext i16 %c to i64
  %7 = shl nuw nsw i64 %6, 32
  %8 = or disjoint i64 %5, %7
  %9 = zext nneg i16 %a to i64
  %r = or i64 %8, %9"""


def halves_of(text):
    return [line.split("i16 ")[-1].split(",")[0] for line in text.splitlines() if "insertelement" in line]


def test_a_pair():
    found = pack_halves(read_module(FRAME.format(bits=32, body=PAIR))).text
    assert halves_of(found) == ["%a", "%b"]
    assert '%r = bitcast <2 x i16> %"r.halves1" to i32, !dbg !3' in found and " or " not in found


def test_four_halves_in_any_order():
    found = pack_halves(read_module(FRAME.format(bits=64, body=FOUR))).text
    assert halves_of(found) == ["%a", "%b", "%c", "%d"]
    assert '%r = bitcast <4 x i16> %"r.halves3" to i64' in found
    assert found.count("bitcast") == 1  # a part of the whole is no integer of halves by itself


@pytest.mark.parametrize(
    "change",
    [
        ("16, !dbg", "15, !dbg"),  # not at a half's place
        ("%3 = zext i16 %a to i32", "%3 = and i32 %w, 65535"),  # not a half
        ("%3 = zext i16 %a to i32", "%3 = sext i16 %a to i32"),  # its sign reaches into the other
        ("%2 = shl nuw i32 %1, 16", "%2 = shl nuw i32 %w, 16"),
        ("or disjoint i32 %2, %3", "or disjoint i32 %2, %2"),  # a place twice, a place never
        ("or disjoint i32 %2, %3", "add i32 %2, %3"),
    ],
)
def test_what_is_no_pair_of_halves_stays(change):
    assert change[0] in PAIR
    text = FRAME.format(bits=32, body=PAIR.replace(*change))
    assert pack_halves(read_module(text)).text == text


def test_llvm_reads_it_and_the_value_is_the_same():
    llvmlite = pytest.importorskip("llvmlite.binding")
    import ctypes

    llvmlite.initialize_native_target()
    llvmlite.initialize_native_asmprinter()
    for body, bits, integer in ((PAIR.replace(", !dbg !3", ""), 32, ctypes.c_uint32), (FOUR, 64, ctypes.c_uint64)):
        module = llvmlite.parse_assembly(pack_halves(read_module(FRAME.format(bits=bits, body=body))).text)
        module.verify()
        machine = llvmlite.Target.from_default_triple().create_target_machine()
        engine = llvmlite.create_mcjit_compiler(module, machine)
        engine.finalize_object()
        half = ctypes.c_uint16
        call = ctypes.CFUNCTYPE(integer, half, half, half, half, ctypes.c_uint32)(engine.get_function_address("f"))
        expected = 0x1234 | 0xFEDC << 16 | (0x0F0F << 32 | 0xABCD << 48 if bits == 64 else 0)
        assert call(0x1234, 0xFEDC, 0x0F0F, 0xABCD, 7) == expected
