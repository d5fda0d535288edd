"""Nests of branches that were made at random give what they gave, selections of them, too."""

import ctypes
import random
import re

from tests.linker.machine import run_function
from tle_raw.linker.llvm.choose_values import choose_values

FUNCTIONS = 200
VALUES = (-(2**31), -7, -1, 0, 1, 2, 31, 32, 2**31 - 1)


def nest(choose, name):
    """A chain of branches, each of which goes on or to the meeting, with values that only some ways know."""
    deep = choose.randint(2, 5)
    known, ways, lines = ["%a", "%b", "%c"], [], [f"define ptx_kernel i32 @{name}(i32 %a, i32 %b, i32 %c) {{", "b0:"]
    bits = list[str]()
    results = choose.randint(1, 3)
    offered = [choose.sample(["%a", "%b", "%c", "0", "-5"], 2) for _ in range(results)]
    for block in range(deep):
        own = list[str]()
        for place in range(choose.randint(0, 2)):
            result, one, other = f"%v{block}.{place}", choose.choice(known), choose.choice([*known, "3", "-9"])
            what = choose.choice(["add", "sub", "and", "xor", "or"])
            lines.append(f"  {result} = {what} i32 {one}, {other}")
            own.append(result)
        word = choose.choice(["slt", "sgt", "eq", "ult", "ne"])
        lines.append(f"  %c{block} = icmp {word} i32 {choose.choice(known)}, {choose.choice([*known, '0'])}")
        bits.append(f"%c{block}")
        known += own
        incoming = [choose.choice(pair) for pair in offered]
        for number, (one, other) in enumerate(offered):
            if choose.random() < (0.6 if block + 1 == deep else 0.1):
                incoming[number] = f"%s{block}.{number}"
                first, second = (one, other) if choose.random() < 0.5 else (other, one)
                bit = choose.choice(bits)
                lines.append(f"  {incoming[number]} = select i1 {bit}, i32 {first}, i32 {second}")
        ways.append((f"%b{block}", incoming))
        targets = ["%meet", f"%b{block + 1}"]
        choose.shuffle(targets)
        if block + 1 < deep:
            lines += [f"  br i1 %c{block}, label {targets[0]}, label {targets[1]}", "", f"b{block + 1}:"]
        else:
            lines += ["  br label %meet", "", "meet:"]
    for number in range(results):
        incoming = ", ".join(f"[ {values[number]}, {block} ]" for block, values in ways)
        lines.append(f"  %r{number} = phi i32 {incoming}")
    sums = ["  %t0 = mul i32 %r0, 3"]
    for number in range(1, results):
        sums += [f"  %u{number} = xor i32 %t{number - 1}, %r{number}", f"  %t{number} = mul i32 %u{number}, 5"]
    return "\n".join([*lines, *sums, f"  ret i32 %t{results - 1}", "}", ""])


def test_nests_give_what_they_gave():
    choose = random.Random(7)
    number = ctypes.c_int32
    changed = 0
    for part in range(4):
        texts = [nest(choose, f"f{n}") for n in range(FUNCTIONS // 4)]
        chosen = [choose_values(text) for text in texts]
        changed += sum(one != other for one, other in zip(texts, chosen, strict=True))
        # each function beside its own selection, and one that compares them for all arguments
        both = "".join(
            text + re.sub(r"@(f\d+)", r"@\1.chosen", other) for text, other in zip(texts, chosen, strict=True)
        )
        calls, last = list[str](), "0"
        for n in range(len(texts)):
            calls += [
                f"  %x{n} = call i32 @f{n}(i32 %a, i32 %b, i32 %c)",
                f"  %y{n} = call i32 @f{n}.chosen(i32 %a, i32 %b, i32 %c)",
                f"  %d{n} = icmp ne i32 %x{n}, %y{n}",
                f"  %e{n} = zext i1 %d{n} to i32",
                f"  %n{n} = add i32 {last}, %e{n}",
            ]
            last = f"%n{n}"
        both += "define i32 @differ(i32 %a, i32 %b, i32 %c) {\n" + "\n".join(calls) + f"\n  ret i32 {last}\n}}\n"
        with run_function(both.replace("ptx_kernel ", ""), "differ", number, number, number, number) as differ:
            for _ in range(300):
                assert differ(*(choose.choice(VALUES) for _ in range(3))) == 0, part
    assert changed > FUNCTIONS // 4


def test_a_constant_expression_is_no_word():
    """Half of one chosen would be no value at all."""
    shared = "addrspacecast (ptr addrspace(3) @s to ptr)"
    text = f"""define void @f(ptr %a, ptr %b, i1 %p, i1 %q, ptr %o) {{
begin:
  br label %ask

ask:
  br i1 %p, label %inner, label %meet

inner:
  %one = icmp eq ptr %a, %b
  br i1 %q, label %last, label %meet

last:
  %v = select i1 %one, ptr {shared}, ptr %b
  br label %meet

meet:
  %r = phi ptr [ %b, %ask ], [ %b, %inner ], [ %v, %last ]
  store ptr %r, ptr %o
  ret void
}}
"""
    chosen = choose_values(text)
    assert " ptr)" not in chosen.replace(shared, "")
