"""A question that all threads answer alike is asked once for a stretch that divides, which gives what it gave."""

import ctypes
import re

import pytest

from tests.linker.machine import run_function
from tle_raw.linker.llvm.ask_once import ask_once

TURNS = 6


def turn(number: int) -> str:
    """One turn of the second part: it divides again, and adds what the first part read where it was done."""
    return f"""
again{number}:
  %j{number} = add i32 %base, %step{number}
  %row{number} = sdiv i32 %j{number}, %n
  br i1 %first, label %else{number}, label %add{number}

add{number}:
  %here{number} = getelementptr i32, ptr %o, i32 %row{number}
  %old{number} = load i32, ptr %here{number}
  br label %else{number}

else{number}:
  %sum{number} = phi i32 [ 0, %again{number} ], [ %old{number}, %add{number} ]
  %total{number} = add i32 %sum{number}, %{"all" if number == 0 else f"total{number - 1}"}
  br label %{"out" if number + 1 == TURNS else f"again{number + 1}"}
"""


KERNEL = f"""
define ptx_kernel void @f(ptr %p, ptr %o, i32 %n, i32 %m) {{
  %place = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %base = mul i32 %place, 7
{"".join(f"  %step{number} = add i32 %m, {number}{chr(10)}" for number in range(TURNS))}  br label %loop

loop:
  %slice = phi i32 [ %place, %0 ], [ %next, %out ]
  %all = phi i32 [ 0, %0 ], [ %kept, %out ]
  %first = icmp eq i32 %slice, 0
  br i1 %first, label %again0, label %load

load:
  %j = add i32 %base, %m
  %i = sdiv i32 %j, %n
  %at = getelementptr i32, ptr %p, i32 %i
  %value = load i32, ptr %at
  %to = getelementptr i32, ptr %o, i32 %i
  store i32 %value, ptr %to
  br label %again0
{"".join(map(turn, range(TURNS)))}
out:
  %kept = phi i32 [ %total{TURNS - 1}, %else{TURNS - 1} ]
  %last = add i32 %row{TURNS - 1}, %kept
  %next = sub i32 %slice, 1
  %more = icmp sge i32 %next, 0
  br i1 %more, label %loop, label %end

end:
  store i32 %last, ptr %o
  ret void
}}

declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
"""


def results(text: str, place: int) -> list[list[int]]:
    text = re.sub(r"^(?:declare|  call void asm) .*\n", "", text, flags=re.MULTILINE).replace("ptx_kernel ", "")
    text = text.replace("@llvm.nvvm.read.ptx.sreg.ctaid.x", "@place")
    text += f"define i32 @place() {{\n  ret i32 {place}\n}}\n"
    pointer, number = ctypes.POINTER(ctypes.c_int32), ctypes.c_int32
    found = []
    with run_function(text, "f", None, pointer, pointer, number, number) as call:
        for n in (1, 2, 3, 5):
            for m in range(4):
                values = (number * 64)(*((i * 2654435761) % 1009 for i in range(64)))
                out = (number * 64)(*((i * 40503) % 997 for i in range(64)))
                call(values, out, n, m)
                found.append(list(out))
    return found


@pytest.mark.parametrize("place", [0, 1, 3])
def test_both_answers_give_what_they_gave(place):
    asked = ask_once(KERNEL)
    assert len(re.findall(r"br i1 %first, label", asked)) == 1 and asked.count("br i1 false") == TURNS + 1
    assert results(asked, place) == results(KERNEL, place)


@pytest.mark.parametrize("place", [0, 2])
def test_a_loop_hands_on_what_a_stretch_has_made(place):
    """To a phi of the block that asks first, by no phi of the block behind the stretch."""
    text = KERNEL.replace("[ %kept, %out ]", f"[ %total{TURNS - 2}, %out ]")
    asked = ask_once(text)
    assert text != KERNEL and asked != text
    assert results(asked, place) == results(text, place)


def test_constants_are_added_last_so_that_a_sum_is_known_again():
    assert '%"j3.sum.tle.no.first" = ' not in KERNEL
    asked = ask_once(KERNEL)
    assert re.search(r'%"j3\.tle\.sum" = add i32 %base, %m\n  %j3 = add i32 %"j3\.tle\.sum", 3\n', asked)


@pytest.mark.parametrize(
    "change",
    [
        ("ptx_kernel ", ""),  # its parameters may differ from thread to thread
        ("sreg.ctaid.x()\n  %base", "sreg.tid.x()\n  %base"),
        ("sdiv", "add"),  # nothing that takes long
        ("  %here2 =", "  call void @llvm.nvvm.barrier0()\n  %here2 ="),
        (
            "  %here2 =",
            "  call void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x1.b16(ptr addrspace(3) null, i32 0)\n  %here2 =",
        ),
        ("  %here2 =", "  call void @llvm.nvvm.wmma.m16n16k16.store.d.row.f32(ptr %o)\n  %here2 ="),
        ("  %here2 =", '  call void asm sideeffect "bar.sync 0;", ""()\n  %here2 ='),
        ("  %here2 =", "  call void @others(ptr %o)\n  %here2 ="),
        ("br label %again3", "br i1 %more0, label %again3, label %end"),  # another way out
    ],
)
def test_other_stretches_stay(change):
    assert change[0] in KERNEL
    text = KERNEL.replace(*change)
    text = (
        text.replace("%first = icmp", "%more0 = icmp sgt i32 %slice, 5\n  %first = icmp") if "%more0" in text else text
    )
    assert ask_once(text) == text


def test_threads_that_come_apart_may_bring_different_values():
    own = "%own = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  %less = icmp slt i32 %own, 5\n"
    text = KERNEL.replace(
        "  br label %loop\n", f"  {own}  br i1 %less, label %loop, label %other\n\nother:\n  br label %loop\n", 1
    )
    same = re.sub(r"\[ (\S+), %0 \]", r"[ \1, %0 ], [ \1, %other ]", text)
    differs = same.replace("[ %place, %other ]", "[ 7, %other ]")
    assert ask_once(differs) == differs
