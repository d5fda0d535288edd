"""Loops, conditions and calls, whose bodies are statements of the other kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.fuzz.building import Builder
from tests.fuzz.values import INTEGERS, NUMBERS, Value

Statement = Callable[[Builder], object]


def body(b: Builder, statements: tuple[Statement, ...], wanted: Value) -> Value:
    """Some statements, then a value of the type and shape of ``wanted`` that depends on it."""
    for _ in range(b.integer(0, 2)):
        b.choice(statements)(b)
    other = b.value((wanted.dtype,), wanted.shape, exact=True)
    text = b.choice(["{0} + {1}", "{0} - {1}", "{0} * {1}"] if wanted.dtype in NUMBERS else ["{0} ^ {1}"])
    return b.emit(text.format(wanted.name, other.name), wanted.dtype, wanted.shape)


ROUNDS = (
    "range(4)",
    "tl.static_range(3)",
    "range(n % 5)",
    "tl.range(0, n % 7, 2)",
    "range(n - 1, n + 5, 3)",
    "range(pid, 3)",
    "range(3, 0, -1)",
    "range(0)",
    "tl.range(3, num_stages=2)",
)


def for_loop(b: Builder, statements: tuple[Statement, ...]) -> Value:
    """Carries one or two values; the number of rounds is known, given, or computed."""
    rounds = b.choice(ROUNDS)
    first = b.value(NUMBERS, exact=True, ranks=(0, 1, 2))
    carried = [_start(b, first)]
    if b.flag():
        carried.append(_start(b, b.value(INTEGERS, exact=True, ranks=(1, 2))))
    index = b.name("i")
    with b.exactly(), b.block(f"for {index} in {rounds}:"):
        if "static" not in rounds:
            b.emit(f"{index} + pid * 0", "int32", ())  # the interpreter counts in Python's integers
        results = [body(b, statements, value) for value in carried]
        for value, result in zip(carried, results, strict=True):
            b.line(f"{value.name} = {result.name}")
    return carried[-1]


def _start(b: Builder, value: Value) -> Value:
    """A copy to be changed: other statements keep what they have."""
    copy = b.like(value, value.name, largest=float("inf"))
    b.changed.add(copy.name)
    return copy


def while_loop(b: Builder, statements: tuple[Statement, ...]) -> Value:
    carried = _start(b, b.value(NUMBERS, exact=True, ranks=(0, 1, 2)))
    counter = b.name("i")
    b.line(f"{counter} = n % {b.integer(1, 6)}")
    with b.exactly(), b.block(f"while {counter} > 0:"):
        b.values.append(Value(counter, "int32", ()))
        result = body(b, statements, carried)
        b.line(f"{carried.name} = {result.name}")
        b.line(f"{counter} -= {b.integer(1, 2)}")
    return carried


def condition(b: Builder, statements: tuple[Statement, ...]) -> Value:
    """Both sides give a value of one type; which is taken depends on a scalar."""
    test = _test(b)
    start = b.value(NUMBERS, exact=True, ranks=(0, 1, 2))
    result = replace(start, name=b.name(), largest=float("inf"))
    with b.exactly():
        if b.flag():  # without an else
            b.line(f"{result.name} = {start.name}")
        with b.block(f"if {test}:"):
            b.line(f"{result.name} = {body(b, statements, start).name}")
        if b.lines[-1].strip() and not any(_assigns(line, result.name, b.depth) for line in b.lines):
            with b.block("else:"):
                b.line(f"{result.name} = {body(b, statements, start).name}")
    b.values.append(result)
    b.changed.add(result.name)
    return result


def _assigns(line: str, name: str, depth: int) -> bool:
    return line.startswith("    " * depth + f"{name} = ")


def _test(b: Builder) -> str:
    tests = ["pid % 2 == 0", "n > 30", "s > 0.5", "(pid == 0) | (n > 50)"]
    flags = [v for v in b.values if v.shape == () and v.dtype in INTEGERS]
    return b.choice([*tests, f"{b.choice(flags).name} > 0"])


def early_return(b: Builder, statements: tuple[Statement, ...]) -> Value:
    """A function that has its loop or condition within, and gives back several values."""
    x = b.value(INTEGERS, exact=True)
    y = b.value((x.dtype,), x.shape, exact=True)
    body = b.choice(
        [
            "    return a + b, a - b",
            "    c = a\n    for i in range(3):\n        c = c * b + a\n    return c, a ^ b",
            "    if m > 20:\n        c = a * b\n    else:\n        c = a - b\n    return c, c + a",
            "    low = tl.minimum(a, b)\n    high = tl.maximum(a, b)\n    return low, high",
        ]
    )
    function = b.helper("helper", "a, b, m", body)
    names = b.name(), b.name()
    b.line(f"{names[0]}, {names[1]} = {function}({x.name}, {y.name}, n)")
    b.values += [Value(name, x.dtype, x.shape) for name in names]
    return b.values[-1]


def call(b: Builder, statements: tuple[Statement, ...]) -> Value:
    x = b.value(NUMBERS, exact=True, ranks=(0, 1, 2, 3))
    function = b.helper("helper", "a", b.choice(["    return a * a", "    return -a + 1", "    return tl.abs(a) - a"]))
    return b.like(x, f"{function}({x.name})", largest=float("inf"))


def given_at_compile_time(b: Builder, statements: tuple[Statement, ...]) -> Value:
    """A function with a constant parameter that decides what it is."""
    x = b.value(INTEGERS, exact=True)
    body = b.choice(
        [
            "    for i in tl.static_range(K):\n        a = a * 3 + i\n    return a",
            "    if K == 2:\n        return a + K\n    else:\n        return a ^ K",
            "    pair = (a, a + K)\n    return pair[0] * pair[1]",
        ]
    )
    function = b.helper("helper", "a, K: tl.constexpr", body)
    return b.emit(f"{function}({x.name}, {b.integer(1, 3)}).to(tl.{x.dtype})", x.dtype, x.shape)


def leave(b: Builder, statements: tuple[Statement, ...]) -> None:
    """Some programs end here, and store nothing."""
    if b.depth == 1:
        with b.block(f"if {b.choice(['pid == 1', 'n > 50', 'pid * 7 % 3 == 2'])}:"):
            b.line("return")


OPERATIONS = (for_loop, given_at_compile_time, leave, condition, while_loop, early_return, call)
