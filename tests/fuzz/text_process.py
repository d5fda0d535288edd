"""The user's process of the fuzzer of texts: ``python -m tests.fuzz.text_process FIRST COUNT FOLDER``.

Compiles COUNT mutated texts, from seed FIRST on. Before each it writes its seed into FOLDER/at, and after
all their outcomes into FOLDER/outcomes, as JSON. A text is compiled for a GPU or for the CPU, and what compiles for a
GPU is linked here by Triton's LLVM, as a kernel would.
"""

from __future__ import annotations

import collections
import json
import os
import sys
import traceback
from pathlib import Path
from random import Random
from typing import NoReturn

import tle_raw
from tests.fuzz.mutations import mutate_bytes, mutate_text
from tests.fuzz.text_samples import SUFFIXES, Sample, samples
from tle_raw.adapters.common.device_llvm import check
from tle_raw.adapters.common.device_llvm.llvm_child import generated
from tle_raw.errors import ToolchainError
from tle_raw.fragments.compilation import older_llvm
from tle_raw.knobs import knobs
from tle_raw.linker.inputs import bitcode

LONGEST_SECONDS = 60.0


# Texts of CUDA take a compiler each, the others a fork.
SHARES = {"llvm": 39, "bitcode": 34, "mlir": 15, "mlir_bytecode": 11, "cuda": 1}


def mutated(seed: int) -> tuple[str, Sample]:
    """The kind and the text of a seed: always the same."""
    random = Random(seed)
    kind = random.choices([*SHARES], [*SHARES.values()])[0]
    known = samples(kind)
    # The first few are those that reach the end; they are taken as often as all others.
    sample = random.choice(known[:4] if random.random() < 0.5 else known)
    others = [other.content for other in known]
    mutate = mutate_text if isinstance(sample.content, str) else mutate_bytes
    changed = mutate(sample.content, others, random)  # type: ignore[arg-type]
    return kind, Sample(changed, sample.options, sample.names)


def outcome(kind: str, sample: Sample, seed: int, folder: Path) -> str:
    """ "compiled", the name of an error of the package, or the traceback of another."""
    target = "cpu" if seed % 4 == 0 and kind != "cuda" else "cuda:90"
    source: object = sample.content
    if kind == "bitcode":
        source = folder / f"source{SUFFIXES[kind]}"
        source.write_bytes(sample.content)  # type: ignore[arg-type]
    try:
        compiled = tle_raw.fragment(source, **sample.options).compile(target=target, **sample.names)
        if target != "cpu":
            link(compiled)
        return "compiled"
    except tle_raw.TLEError as error:
        str(error)
        return type(error).__name__
    except Exception:
        return traceback.format_exc(limit=-6)


def link(compiled: tle_raw.CompiledFragment) -> None:
    root = check._root(compiled.entry, compiled.bound)
    generated(compiled.path.read_text(), "", root, "sm_90a", check._features("sm_90a"), older_llvm())


def no_clang() -> NoReturn:
    raise ToolchainError("not asked")


def main(first: int, count: int, folder: Path) -> None:
    bitcode.find_clang = no_clang  # it would be started for each bitcode that LLVM has refused already
    knobs.cache.dir, knobs.compile_timeout = str(folder / "cache"), LONGEST_SECONDS
    outcomes: collections.Counter[str] = collections.Counter()
    failures = {}
    for seed in range(first, first + count):
        (folder / "at").write_text(str(seed))
        kind, sample = mutated(seed)
        said = outcome(kind, sample, seed, folder)
        outcomes[f"{kind} {said if chr(10) not in said else 'raw'}"] += 1
        if "\n" in said:
            failures[seed] = said
        bitcode.disassemble.cache_clear()
        (folder / "outcomes").write_text(json.dumps([outcomes, failures]))


if __name__ == "__main__":
    os.environ["TRITON_ALWAYS_COMPILE"] = "1"
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
