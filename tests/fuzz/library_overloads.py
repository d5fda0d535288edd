"""Random manifests of overloads and tiles over LLVM IR and CUDA, and texts that are no manifest, refused by name.

``python -m tests.fuzz.library_overloads 20000`` looks at so many; one in ten has no mismatch and is taken.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tests.fuzz.library_manifests import HEAD, judge, main
from tle_raw.errors import TLEError
from tle_raw.fragments.dtypes import DTYPES
from tle_raw.libraries.packing.check_abi import check_abi
from tle_raw.libraries.packing.read_manifest import read_manifest

DTYPE_NAMES = ("i8", "i16", "i32", "i64", "u8", "u32", "f16", "bf16", "f32", "f64")
CXX_TYPES = ("bool", "signed char", "short", "int", "long long", "unsigned int", "__half", "float", "double")


@dataclass(frozen=True)
class Port:
    """One parameter: as the signature states it, and as the source has it."""

    stated: str
    llvm: str
    cxx: str


@dataclass(frozen=True)
class Overload:
    """``values`` is a TOML table's content, or empty."""

    ports: tuple[Port, ...]
    result: Port | None
    symbol: str
    values: str = ""
    more: str = ""

    @property
    def signature(self) -> str:
        ports = ", ".join(f"p{i}: {port.stated}" for i, port in enumerate(self.ports))
        return f"({ports})" + (f" -> {self.result.stated}" if self.result else "")

    def source(self, language: str) -> str:
        """Its definition, in LLVM IR or CUDA."""
        if language == "cu":
            ports = ", ".join(f"{port.cxx} p{i}" for i, port in enumerate(self.ports))
            body = f"return {self.result.cxx}();" if self.result else ""
            return f"__device__ {self.result.cxx if self.result else 'void'} {self.symbol}({ports}) {{ {body} }}\n"
        ports = ", ".join(f"{port.llvm} %p{i}" for i, port in enumerate(self.ports))
        result = self.result.llvm if self.result else "void"
        value = " zeroinitializer" if self.result else ""
        return f"define {result} @{self.symbol}({ports}) {{\n  ret {result}{value}\n}}\n"


@dataclass(frozen=True)
class Case:
    """Functions by name; what stands in the source is ``sources``, the same where nothing is wrong."""

    language: str
    functions: tuple[tuple[str, tuple[Overload, ...]], ...]
    sources: tuple[Overload, ...]

    def manifest(self) -> str:
        lines = ["format = 1", "", "[library]", 'name = "fuzzed"', 'version = "1.0"', 'architectures = ["cuda:80"]']
        lines += [f'source = "fuzzed.{self.language}"']
        for name, overloads in self.functions:
            lines += ["", "[[function]]", f'name = "{name}"']
            for overload in overloads:
                lines += ["", "[[function.overload]]"] if len(overloads) > 1 else []
                lines += [f'signature = "{overload.signature}"', f'symbol = "{overload.symbol}"']
                lines += [f"values = {{ {overload.values} }}"] if overload.values else []
                lines += [overload.more] if overload.more else []
        return "\n".join(lines) + "\n"

    def source(self) -> str:
        head = HEAD if self.language == "ll" else "#include <cuda_fp16.h>\n"
        return head + "\n".join(each.source(self.language) for each in self.sources)


def draw_port(own: random.Random, kinds: tuple[str, ...]) -> Port:
    """One that fits its source."""
    kind, dtype = own.choice(kinds), DTYPES[own.choice(DTYPE_NAMES)]
    if kind == "Pointer":
        return Port(f"InOut[Pointer[{dtype.name}]]", "ptr", f"{dtype.cxx} *")
    if kind == "Tile":
        dims = ", ".join(own.choice(("4", "8", "64", "N")) for _ in range(own.randint(1, 3)))
        return Port(f"InOut[Tile[{dtype.name}, {dims}]]", "ptr", f"{dtype.cxx} *")
    return Port(f"{kind}[{dtype.name}]", dtype.llvm, dtype.cxx)


def draw_overload(own: random.Random, symbol: str) -> Overload:
    """One of numbers, or one with pointers and tiles."""
    elementwise = own.random() < 0.3
    kinds = ("Element",) if elementwise else ("Scalar", "Pointer", "Tile")
    ports = tuple(draw_port(own, kinds) for _ in range(own.randint(1, 5)))
    kind = "Element" if elementwise else "Scalar"
    result = draw_port(own, (kind,)) if elementwise or own.random() < 0.4 else None
    is_named = any("N" in port.stated.partition(", ")[2] for port in ports)
    return Overload(ports, result, symbol, "N = [32, 64]" if is_named else "")


def draw_case(own: random.Random) -> Case:
    """Functions of one to three overloads, each of which has its own function in the source."""
    functions = []
    for number in range(own.randint(1, 3)):
        overloads: list[Overload] = []
        for index in range(own.randint(1, 3)):
            overload = draw_overload(own, f"vendor_{number}_{index}")
            if all(overload.signature.split(" ->")[0] != other.signature.split(" ->")[0] for other in overloads):
                overloads.append(overload)
        functions.append((f"f{number}", tuple(overloads)))
    return Case(own.choice(("ll", "cu")), tuple(functions), tuple(o for _, several in functions for o in several))


# --- mismatches: each gives a manifest, a source, and a word of the message that refuses them ---

Made = tuple[bytes, str, str]


def _texts(case: Case, word: str) -> Made:
    return case.manifest().encode(), case.source(), word


def _with_source(own: random.Random, case: Case, change: Callable[[Overload], Overload | None]) -> Made:
    """The source has something else than the manifest says of one overload."""
    index = own.randrange(len(case.sources))
    changed = change(case.sources[index])
    sources = (*case.sources[:index], *([changed] if changed else []), *case.sources[index + 1 :])
    name = next(name for name, several in case.functions if case.sources[index] in several)
    return _texts(replace(case, sources=sources), name)


def _with_manifest(own: random.Random, case: Case, change: Callable[[Overload], Overload], word: str = "") -> Made:
    """The manifest has something else than it may say of one overload."""
    index = own.randrange(len(case.functions))
    name, several = case.functions[index]
    which = own.randrange(len(several))
    changed = (name, (*several[:which], change(several[which]), *several[which + 1 :]))
    functions = (*case.functions[:index], changed, *case.functions[index + 1 :])
    return _texts(replace(case, functions=functions), word)


def other_parameter(own: random.Random, case: Case) -> Made:
    def change(overload: Overload) -> Overload:
        index = own.randrange(len(overload.ports))
        port = overload.ports[index]
        alike = {"half": {"half", "i16"}, "bfloat": {"bfloat", "i16"}, "ptr": {"ptr", "i64", "i32"}}.get(
            port.llvm, {port.llvm}
        )
        llvm = own.choice([t for t in ("i8", "i32", "i64", "half", "float", "double", "<4 x float>") if t not in alike])
        is_number = not port.cxx.endswith("*")
        others = [f"{c} *" for c in CXX_TYPES] if is_number else list(CXX_TYPES)
        wrong = replace(port, llvm=llvm, cxx=own.choice(others))
        return replace(overload, ports=(*overload.ports[:index], wrong, *overload.ports[index + 1 :]))

    return _with_source(own, case, change)


def other_number(own: random.Random, case: Case) -> Made:
    """A number of another dtype, or memory of another one (which LLVM IR does not tell: there it is a number)."""

    def change(overload: Overload) -> Overload:
        index = own.randrange(len(overload.ports))
        port = overload.ports[index]
        star = " *" if port.cxx.endswith("*") else ""
        plain = port.cxx.removesuffix(" *")
        wrong = replace(
            port,
            llvm="double" if port.llvm == "float" else "float",
            cxx=own.choice([c for c in CXX_TYPES if c != plain]) + star,
        )
        return replace(overload, ports=(*overload.ports[:index], wrong, *overload.ports[index + 1 :]))

    return _with_source(own, case, change)


def more_parameters(own: random.Random, case: Case) -> Made:
    port = own.choice((Port("", "i32", "int"), Port("", "ptr", "float *")))
    return _with_source(own, case, lambda overload: replace(overload, ports=(*overload.ports, port)))


def fewer_parameters(own: random.Random, case: Case) -> Made:
    return _with_source(own, case, lambda overload: replace(overload, ports=overload.ports[:-1]))


def other_result(own: random.Random, case: Case) -> Made:
    def change(overload: Overload) -> Overload | None:
        if overload.result is None:  # a result that nobody takes is C's to give: another parameter, then
            return replace(overload, ports=())
        llvm = "double" if overload.result.llvm == "float" else "float"
        cxx = own.choice([c for c in CXX_TYPES if c != overload.result.cxx])
        return replace(overload, result=own.choice((Port("", llvm, cxx), None)))

    return _with_source(own, case, change)


def values_that_are_none(own: random.Random, case: Case) -> Made:
    wrong, word = own.choice(
        (("N = []", "N"), ("N = [32, 32]", "N"), ('N = ["f32"]', "N"), ("N = [1.5]", "N"), ("N = 32", "N"),
         ("N = [true]", "N"), ("M = [1]", "M"), ("N = [3]", "N"), ("N = [0]", "N"), ("N = [-4]", "N"),
         ("N = [32, 1979-05-27]", "N"))
    )  # fmt: skip

    index = own.randrange(len(case.functions))
    tile = Overload((Port("InOut[Tile[f32, N]]", "ptr", "float *"),), None, "of_tile", wrong)
    functions = (*case.functions[:index], ("of_tile", (tile,)), *case.functions[index + 1 :])
    return _texts(replace(case, functions=functions, sources=(*case.sources, tile)), word)


def no_signature(own: random.Random, case: Case) -> Made:
    wrong = own.choice(
        ("Tile[f32]", "Tile[4, f32]", "Tile[f32, 3]", "Tile[f32, 0]", "Tile[f32, -1]", "Tile", "Out[Out[Tile[f32, 4]]]",
         "Pointer[]", "Scalar[f32, f32]", "Scalar[f32", "Scalar[f32]]", "1", "f32", "Tile[f32, 4.5]", "Element[void]",
         "Scalar[lambda: 0]", "__import__('os')", "Out[Scalar[f32]]", "Tile[f32, 99999999999999999999]")
    )  # fmt: skip
    return _with_manifest(
        own, case, lambda overload: replace(overload, ports=(Port(wrong, "", ""),), values=""), "signature"
    )


def one_overload_covers_another(own: random.Random, case: Case) -> Made:
    name, several = case.functions[-1]
    again = own.choice(several)
    doubled = (*case.functions[:-1], (name, (*several, again)))
    return _texts(replace(case, functions=doubled), f"`{name}`")


def wrong_key(own: random.Random, case: Case) -> Made:
    line, key = own.choice(
        (("inlined = true", "inlined"), ("signature.x = 1", ""), ('"sym bol" = "x"', "sym bol"),
         ("block = 1.5", "block"), ("block = [true]", "block"), ('effects = "reads"', "effects"),
         ("effects = [1]", "effects"), ("values = []", "values"), ("architectures = 80", "architectures"),
         ("libraries = [1]", "libraries"), ('libraries = ["no.bc"]', "libraries"), ("source = 1979-05-27", "source"),
         ('source = ""', "source"), ('dialect = ""', "dialect"), ("options = []", "options"),
         ('options = { file = "x" }', "file"))
    )  # fmt: skip
    if "values" in line:
        case = replace(case, functions=tuple((n, tuple(replace(o, values="") for o in s)) for n, s in case.functions))
    return _with_manifest(own, case, lambda overload: replace(overload, more=line), key)


def key_twice(own: random.Random, case: Case) -> Made:
    lines = case.manifest().splitlines()
    index = own.choice([i for i, line in enumerate(lines) if " = " in line])
    return "\n".join([*lines[: index + 1], lines[index], *lines[index + 1 :]]).encode(), case.source(), "TOML"


def cut_off(own: random.Random, case: Case) -> Made:
    text = case.manifest().encode()
    start, end = text.rindex(b"[[function"), text.rindex(b"symbol")
    return text[: own.randrange(start + 1, end - 2)], case.source(), ""


def no_text(own: random.Random, case: Case) -> Made:
    """Bytes that are no UTF-8, control characters, escapes of nothing."""
    text = case.manifest().encode()
    at = own.randrange(len(text) + 1)
    odd = own.choice((b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\x00", b"\x07", b"\xfe\xff"))
    return text[:at] + odd + text[at:], case.source(), ""


def other_text(own: random.Random, case: Case) -> Made:
    odd = (b"", b"\x7fELF\x02\x01", b"{}", b"format = 1", b"[[[", b"\n\n\n", b"format = 1\n[library]\n", b"a.b.c = 1",
           b"format = 99999999999999999999999", b'format = "1"', b"format = true", b"format = 1\nlibrary = 1",
           b"format = 1\nfunction = 1\n[library]\nname='a'\nversion='1'", b"x = " + b"[" * 3000, b"'",
           b"format = " + b"1" * 5000, b"format = 1\nx = " + b"{a = " * 2000)  # fmt: skip
    return own.choice(odd), case.source(), ""


KINDS: tuple[Callable[[random.Random, Case], Made], ...] = (
    other_parameter, other_number, more_parameters, fewer_parameters, other_result, values_that_are_none, no_signature,
    one_overload_covers_another, wrong_key, key_twice, cut_off, no_text, other_text,
)  # fmt: skip


def check(folder: Path, text: bytes, source: str) -> None:
    """What ``tle-raw pack --check`` does."""
    (folder / "fuzzed.ll").write_text(source)
    (folder / "fuzzed.cu").write_text(source)
    (folder / "fuzzed.toml").write_bytes(text)
    check_abi(read_manifest(folder / "fuzzed.toml"))


def draw(seed: int, folder: Path) -> tuple[str, str]:
    """One mismatch: its kind, and what was wrong with the answer, "" where nothing was."""
    own = random.Random(seed)
    case = draw_case(own)
    if seed % 10 == 0:
        try:
            check(folder, case.manifest().encode(), case.source())
        except TLEError as error:
            return "none", f"refused what fits: {error}"
    kind = own.choice(KINDS)
    text, source, word = kind(own, case)
    return kind.__name__, judge(lambda: check(folder, text, source), word)


if __name__ == "__main__":
    main(draw)
