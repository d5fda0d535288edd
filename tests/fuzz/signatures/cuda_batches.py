"""Many CUDA declarations in one run of the compiler: which of their entry functions it refuses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.signatures.declared import Case
from tests.fuzz.signatures.running import source_of
from tle_raw.adapters.cpp.command import command_line
from tle_raw.adapters.cpp.declarations import functions
from tle_raw.adapters.cpp.options import read_options
from tle_raw.adapters.cpp.source_lines import LABEL
from tle_raw.adapters.cpp.toolchain import find_toolchain
from tle_raw.adapters.cuda.symbol import choose_function
from tle_raw.adapters.cuda.wrapper import write_unit
from tle_raw.fragments.binding import bind_names
from tle_raw.linker.processes.run_compiler import run_compiler

ALL_TYPES = "#define TLE_RAW_HAS_HALF 1\n#define TLE_RAW_HAS_BFLOAT 1\n#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n"
CHECK = ("-fsyntax-only", "-ferror-limit=0", "-Wno-macro-redefined")


def refused(cases: Sequence[Case], folder: Path) -> set[int]:
    """The cases whose units the compiler refuses. Each has a function of another name."""
    text = ALL_TYPES + "\n".join(_unit(case, index, folder) for index, case in enumerate(cases))
    command = command_line(find_toolchain(), read_options({"source": text}, folder), "sm_90", folder, False)
    run = run_compiler(command, text, 300, CHECK)
    found = {int(number) for number in re.findall(r"^case (\d+):\d+:\d+: (?:fatal )?error:", run.log, re.MULTILINE)}
    if bool(found) != (run.returncode != 0):
        raise AssertionError(f"clang ended with {run.returncode}, and names no case\n{run.log}")
    return found


def _unit(case: Case, index: int, folder: Path) -> str:
    text = source_of(case)
    options = read_options({"source": text}, folder)
    callee = choose_function(case.name, functions(text))
    unit = write_unit(
        case.name, text, f'#line 1 "case {index}"', bind_names(case.signature, case.names), callee, options
    )
    return unit.text.replace(LABEL, f"case {index}")
