"""Random manifests and functions of LLVM IR that fit each other, and one mismatch between them.

``python -m tests.fuzz.library_manifests 20000`` looks at so many mismatches: each must be refused by name.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tle_raw.errors import TLEError
from tle_raw.fragments.dtypes import DTYPES
from tle_raw.libraries.packing.check_abi import check_abi
from tle_raw.libraries.packing.read_manifest import manifest_of_text

NUMBERS = ("i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "u32", "u64")
HEAD = 'target triple = "nvptx64-nvidia-cuda"\n\n'


@dataclass(frozen=True)
class Port:
    """One parameter: its kind, ``Scalar``, ``Element`` or ``Pointer``, and its dtype."""

    kind: str
    dtype: str

    @property
    def llvm(self) -> str:
        return "ptr" if self.kind == "Pointer" else DTYPES[self.dtype].llvm


@dataclass(frozen=True)
class Function:
    """A function as the manifest states it, and as the source has it."""

    name: str
    ports: tuple[Port, ...]
    result: Port | None
    source_ports: tuple[str, ...]
    source_result: str
    symbol: str
    source_symbol: str
    effects: str = ""
    more: str = ""


def draw_function(random: random.Random, number: int) -> Function:
    """One that fits its source."""
    elementwise = random.random() < 0.4
    kinds = ("Element",) if elementwise else ("Scalar", "Pointer")
    ports = tuple(Port(random.choice(kinds), random.choice(NUMBERS)) for _ in range(random.randint(1, 5)))
    kind = "Element" if elementwise else "Scalar"
    result = Port(kind, random.choice(NUMBERS)) if elementwise or random.random() < 0.5 else None
    name = f"f{number}_{random.randrange(1000)}"
    symbol = name if random.random() < 0.5 else f"vendor_{name}"
    return Function(
        name, ports, result, tuple(p.llvm for p in ports), result.llvm if result else "void", symbol, symbol,
        random.choice(("", "effects = []\n", 'effects = ["reads", "writes"]\n')),
    )  # fmt: skip


def manifest_text(functions: list[Function], head: str = "", tail: str = "") -> str:
    """The manifest of these functions."""
    top = head or 'format = 1\n\n[library]\nname = "fuzzed"\nversion = "1.0"\narchitectures = ["cuda:80"]\n'
    source = "" if "source =" in top else 'source = "fuzzed.ll"\n'
    parts = [top, source]
    for f in functions:
        ports = ", ".join(
            f"p{i}: {'InOut[Pointer[' + p.dtype + ']]' if p.kind == 'Pointer' else f'{p.kind}[{p.dtype}]'}"
            for i, p in enumerate(f.ports)
        )
        result = f" -> {f.result.kind}[{f.result.dtype}]" if f.result else ""
        symbol = f'symbol = "{f.symbol}"\n' if f.symbol != f.name else ""
        parts.append(f'\n[[function]]\nname = "{f.name}"\nsignature = "({ports}){result}"\n{symbol}{f.effects}{f.more}')
    return "".join(parts) + tail


def source_text(functions: list[Function]) -> str:
    """The LLVM IR of these functions: only their types matter."""
    return HEAD + "\n".join(map(_definition, functions))


def _definition(f: Function) -> str:
    ports = ", ".join(f"{type_} %p{i}" for i, type_ in enumerate(f.source_ports))
    value = "" if f.source_result == "void" else " zeroinitializer"
    return f"define {f.source_result} @{f.source_symbol}({ports}) {{\n  ret {f.source_result}{value}\n}}\n"


# --- mismatches: each gives the manifest's and the source's text, and a word of the message that refuses them ---

Mismatch = Callable[[random.Random, list[Function]], tuple[str, str, str]]


def _changed(random: random.Random, functions: list[Function], change: Callable[[Function], Function]):
    index = random.randrange(len(functions))
    changed = [*functions]
    changed[index] = change(functions[index])
    return manifest_text(changed), source_text(changed), functions[index].name


def other_parameter(random, functions):
    def change(f: Function) -> Function:
        index = random.randrange(len(f.ports))
        others = ["i8", "i16", "i32", "i64", "half", "bfloat", "float", "double", "ptr", "<2 x float>"]
        given = f.source_ports[index]
        # A signature's pointer and a 64-bit integer may both be an address; so may bf16, f16 and their bits.
        alike = {"ptr": {"ptr", "i64"}, "half": {"half", "i16"}, "bfloat": {"bfloat", "i16"}}.get(given, {given})
        wrong = random.choice([t for t in others if t not in alike])
        return replace(f, source_ports=(*f.source_ports[:index], wrong, *f.source_ports[index + 1 :]))

    return _changed(random, functions, change)


def more_parameters(random, functions):
    return _changed(
        random, functions, lambda f: replace(f, source_ports=(*f.source_ports, random.choice(("i32", "ptr"))))
    )


def fewer_parameters(random, functions):
    return _changed(random, functions, lambda f: replace(f, source_ports=f.source_ports[:-1]))


def other_result(random, functions):
    def change(f: Function) -> Function:
        same = {"half": {"half", "i16"}, "bfloat": {"bfloat", "i16"}, "i64": {"i64", "ptr"}}
        alike = same.get(f.source_result, {f.source_result})
        if f.result is None:
            return replace(f, result=Port("Scalar", "f32"), source_result="void")
        wrong = random.choice([t for t in ("void", "i32", "i64", "float", "double", "ptr") if t not in alike])
        return replace(f, source_result=wrong)

    return _changed(random, functions, change)


def missing_symbol(random, functions):
    return _changed(random, functions, lambda f: replace(f, source_symbol=f"{f.source_symbol}_x"))


def unknown_dtype(random, functions):
    def change(f: Function) -> Function:
        wrong = random.choice(("f33", "int", "q8", "fp4", "i128", "Float"))
        return replace(f, ports=(Port(f.ports[0].kind, wrong), *f.ports[1:]))

    text, source, name = _changed(random, functions, change)
    return text, source, name


def twice(random, functions):
    again = random.choice(functions)
    return manifest_text([*functions, again]), source_text(functions), again.name


def unknown_key(random, functions):
    key = random.choice(("signatur", "symbols", "efects", "docs", "blok", "inline", "architecture"))
    text, source, _ = _changed(random, functions, lambda f: replace(f, more=f'{key} = "x"\n'))
    return text, source, key


def wrong_kind(random, functions):
    line, key = random.choice(
        (
            ("doc = 1", "doc"), ("block = 0", "block"), ('block = "32"', "block"), ("block = [1, 2, 3, 4]", "block"),
            ("architectures = []", "architectures"), ('architectures = ["cuda:80", "tpu"]', "architectures"),
            ('architectures = ["cuda:90"]', "architectures"), ("values = { N = [1] }", "N"), ("values = 3", "values"),
            ('source = "gone.ll"', "source"), ("source = 3", "source"), ('dialect = "cobol"', "dialect"),
            ("options = 1", "options"), ('options = { symbol = "x" }', "symbol"), ("overload = [1]", "overload"),
        )
    )  # fmt: skip
    text, source, _ = _changed(random, functions, lambda f: replace(f, more=f"{line}\n"))
    return text, source, key


def wrong_effect(random, functions):
    wrong = random.choice(("writes_all", "read", "pure", "BARRIER"))
    text, source, _ = _changed(random, functions, lambda f: replace(f, effects=f'effects = ["{wrong}"]\n'))
    return text, source, wrong


def newer_format(random, functions):
    number = random.choice((2, 3, 17, 1000))
    head = f'format = {number}\n\n[library]\nname = "fuzzed"\nversion = "1.0"\n'
    return manifest_text(functions, head), source_text(functions), f"format {number}"


def wrong_library(random, functions):
    line, key = random.choice(
        (
            ('name = "2fast"', "library.name"), ('name = "class"', "library.name"), ("name = 3", "library.name"),
            ('name = "ok"\nversion = "one"', "library.version"), ('name = "ok"\nversion = 1.0', "library.version"),
            ('name = "ok"\nversion = "1"\nsummary = "a\\nb"', "library.summary"), ('version = "1.0"', "library.name"),
            ('name = "ok"\nversion = "1"\nmodule = { setup = "no colon" }', "library.module.setup"),
            ('name = "ok"\nversion = "1"\narchitectures = ["cuda:80", "cuda:80"]', "library.architectures"),
        )
    )  # fmt: skip
    return manifest_text(functions, f"format = 1\n\n[library]\n{line}\n"), source_text(functions), key


def torn(random, functions):
    text = manifest_text(functions)
    cut = text.rindex('signature = "') + random.randrange(14, 30)
    return text[:cut].rstrip('"'), source_text(functions), "no TOML"


def name_without_value(random, functions):
    def change(f: Function) -> Function:
        kind = f.ports[0].kind
        return replace(f, ports=(Port(kind, "T"), *f.ports[1:]))

    text, source, _ = _changed(random, functions, change)
    return text, source, "`T`"


MISMATCHES: tuple[Mismatch, ...] = (
    other_parameter, more_parameters, fewer_parameters, other_result, missing_symbol, unknown_dtype, twice, unknown_key,
    wrong_kind, wrong_effect, newer_format, wrong_library, torn, name_without_value,
)  # fmt: skip


def check(folder: Path, text: str, source: str) -> None:
    """What ``tle-raw pack --check`` does."""
    (folder / "fuzzed.ll").write_text(source)
    check_abi(manifest_of_text(text, folder / "fuzzed.toml"))


def judge(check: Callable[[], None], word: str) -> str:
    """What is wrong with the answer to a manifest that is wrong: "" where a named error says ``word`` and the line."""
    try:
        check()
    except TLEError as error:
        message = str(error)
        named = word in message and "fuzzed.toml:" in message
        return "" if named else f"the message has neither {word!r} nor the line: {message}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "not refused"


def draw(seed: int, folder: Path) -> tuple[str, str]:
    """One mismatch: its kind, and what was wrong with the answer, "" where nothing was."""
    own = random.Random(seed)
    functions = [draw_function(own, number) for number in range(own.randint(1, 4))]
    if seed % 10 == 0:  # without a mismatch nothing is refused
        try:
            check(folder, manifest_text(functions), source_text(functions))
        except TLEError as error:
            return "none", f"refused what fits: {error}"
    mismatch = own.choice(MISMATCHES)
    text, source, word = mismatch(own, functions)
    return mismatch.__name__, judge(lambda: check(folder, text, source), word)


Draw = Callable[[int, Path], tuple[str, str]]


def run(count: int, first: int = 0, draw: Draw = draw) -> tuple[Counter[str], list[str]]:
    """So many mismatches from a seed on: how often each kind was drawn, and what went wrong."""
    kinds: Counter[str] = Counter()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            kind, problem = draw(seed, Path(folder))
            kinds[kind] += 1
            wrong += [f"seed {seed}, {kind}: {problem}"] if problem else []
    return kinds, wrong


def main(draw: Draw) -> None:
    begin = time.perf_counter()
    drawn, problems = run(int(sys.argv[1]) if len(sys.argv) > 1 else 20000, draw=draw)
    print("\n".join(f"{kind:20} {number}" for kind, number in sorted(drawn.items())))
    print("\n".join(problems[:20]))
    print(f"{sum(drawn.values())} mismatches, {len(problems)} wrong answers, {time.perf_counter() - begin:.0f} s")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main(draw)
