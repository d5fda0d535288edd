"""Short ways to declare and compile CUDA fragments; equal compilations run once in a session."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import tle_raw
from tle_raw.adapters.cuda import CudaAdapter
from tle_raw.errors import SourceLocation
from tle_raw.fragments.adapter import CompilerOutput, Declaration, Source
from tle_raw.fragments.bound import CONST, TILE, BoundParameter, BoundSignature
from tle_raw.fragments.dtypes import DTYPES, DType
from tle_raw.fragments.mlir_types import memref_type
from tle_raw.target import parse_target

_RESULTS: dict[object, object] = {}


def parameter(text: str) -> BoundParameter:
    """``"t: InOut tile f32 8 8"``; the effect may be left out."""
    name, _, rest = text.partition(": ")
    words = rest.split()
    effect = words.pop(0) if words[0] in ("In", "Out", "InOut") else "In"
    kind = words.pop(0)
    if kind == CONST:
        return BoundParameter(name, kind, effect, value=int(words[0]))
    dtype, *dims = words
    return BoundParameter(name, kind, effect, DTYPES[dtype], tuple(map(int, dims)))


@pytest.fixture
def on_cpu():
    """Numbers are those of the CPU, on a machine with a GPU too."""
    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        yield


class Cuda:
    """One adapter, with fragments spelled as short texts."""

    adapter = CudaAdapter()

    def bound(self, parameters=(), result=None, names=None, style="typed", name="f") -> BoundSignature:
        values = tuple((n, DTYPES[v] if isinstance(v, str) else v) for n, v in (names or {}).items())
        result_type: DType | None = DTYPES[result] if result else None
        bound = tuple(map(parameter, parameters))
        if style == "memref":
            bound = tuple(replace(p, spelling=memref_type(p.dtype, p.dims)) if p.kind == TILE else p for p in bound)
        return BoundSignature(name, bound, result_type, values)

    def read(self, name="f", folder=None, place=None, **options) -> Source:
        folder = Path(folder) if folder else Path(__file__).parent
        place = place or SourceLocation(str(folder / "no_such_file.py"), 1)
        return self.adapter.read(Declaration(name, None, options, place, folder))

    def compile(
        self, source, parameters=(), result=None, names=None, style="typed", target="cuda:90", name="f", **options
    ) -> CompilerOutput:
        key = repr((source, parameters, result, names, style, target, name, sorted(options.items())))
        if key not in _RESULTS:
            read = source if isinstance(source, Source) else self.read(name, source=source, **options)
            bound = self.bound(parameters, result, names, style, name)
            try:
                _RESULTS[key] = self.adapter.compile(read, bound, parse_target(target))
            except Exception as error:
                _RESULTS[key] = error
        found = _RESULTS[key]
        if isinstance(found, Exception):
            raise found
        assert isinstance(found, CompilerOutput)
        return found


@pytest.fixture(scope="session")
def cuda() -> Cuda:
    return Cuda()


@pytest.fixture(scope="session")
def entry_type():
    """(result, parameters) of the entry function, as LLVM types."""

    def read(output: CompilerOutput) -> tuple[str, tuple[str, ...]]:
        line = next(x for x in output.text.splitlines() if x.startswith("define") and f"@{output.entry}(" in x)
        head, _, rest = line.partition(f" @{output.entry}(")
        inside = rest[: rest.rindex(") local_unnamed_addr")]
        inside = re.sub(r"captures\([^)]*\)|dereferenceable\([^)]*\)|initializes\(\([^)]*\)\)", "", inside)
        return head.split()[-1], tuple(_type(part) for part in inside.split(", "))

    return read


def _type(text: str) -> str:
    return "ptr addrspace(1)" if text.startswith("ptr addrspace(1)") else text.split()[0]


@pytest.fixture(scope="session")
def entry_body():
    """Text of the entry function."""

    def read(output: CompilerOutput) -> str:
        start = re.search(rf"^define[^\n]*@{output.entry}\(", output.text, re.M).start()
        return output.text[start : output.text.index("\n}", start)]

    return read
