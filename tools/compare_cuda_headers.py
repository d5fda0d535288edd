"""Which device functions nvcc's headers declare that clang, with this package's headers, cannot call.

    python tools/compare_cuda_headers.py [sm_80 sm_90a sm_100a]

Every declaration of the toolkit's headers for the compiler (the CUDA headers that ``tle-raw doctor`` names) becomes a
function that passes its own parameters on; what clang refuses is listed by header. Conversions hide an overload whose
neighbour takes the same argument. Headers that programs include themselves, such as ``cuda_fp16.h``, are NVIDIA's own
under clang too, so that nothing is missing there.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tle_raw.adapters.cpp.command import command_line
from tle_raw.adapters.cpp.declarations import functions
from tle_raw.adapters.cpp.options import read_options
from tle_raw.adapters.cpp.toolchain import find_toolchain

HEADERS = """
crt/device_functions.h crt/math_functions.h crt/device_double_functions.h device_atomic_functions.h
sm_20_atomic_functions.h sm_20_intrinsics.h sm_30_intrinsics.h sm_32_atomic_functions.h sm_32_intrinsics.h
sm_35_atomic_functions.h sm_35_intrinsics.h sm_60_atomic_functions.h sm_61_intrinsics.h crt/sm_70_rt.h crt/sm_80_rt.h
crt/sm_90_rt.h crt/sm_100_rt.h vector_functions.h
"""
_MARK = r"(?:__DEVICE_\w+_DECL__|__device__|__SM_\w+_DECL__|__VECTOR_FUNCTIONS_DECL__|__device_builtin__)"
_DECLARED = re.compile(
    _MARK + r"\b[^;{()]*?\b(\w+)\s*\(([^;{]*?)\)\s*(?:;|\{|__DEF_IF_HOST|__THROW|_NV_RSQRT|noexcept)"
)
_NO_FUNCTION = frozenset(("defined", "__DEPRECATED__"))


def main() -> None:
    for arch in sys.argv[1:] or ("sm_80", "sm_90a", "sm_100a"):
        declared = list(_declared(find_toolchain().toolkit.root / "include"))
        missing = _missing(declared, arch)
        print(f"{arch}: {len(declared)} declared, {len(missing)} cannot be called")
        for (header, name), count in sorted(Counter((header, name) for header, name, _ in missing).items()):
            print(f"  {header:28} {name}{f' ({count} overloads)' if count > 1 else ''}")


def _declared(include: Path) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Header, name and parameter types of each declaration."""
    seen = set()
    for header in HEADERS.split():
        text = (include / header).read_text(errors="replace") if (include / header).is_file() else ""
        for found in _DECLARED.finditer(text):
            written = functions(f"void f({' '.join(found[2].split())});")
            types = written[0].types if written else ()
            is_template = any(re.search(r"\b_?T[py]?\d?\b|\b_[TU]p\b|\.\.\.|long double", type_) for type_ in types)
            if written and not is_template and found[1] not in _NO_FUNCTION and (found[1], types) not in seen:
                seen.add((found[1], types))
                yield header, found[1], types


def _missing(declared: list[tuple[str, str, tuple[str, ...]]], arch: str) -> list[tuple[str, str, tuple[str, ...]]]:
    lines = ['#line 1 "called"']
    for number, (_, name, types) in enumerate(declared):
        parameters = ", ".join(f"{type_} a{place}" for place, type_ in enumerate(types))
        passed = ", ".join(f"a{place}" for place in range(len(types)))
        # the first constant stands for one that must be constant
        call = f"{name}({passed})" if name != "__prof_trigger" else f"{name}(1)"
        lines.append(f"__attribute__((device)) void called_{number}({parameters}) {{ {call}; }}")
    options = read_options({"source": " "}, Path.cwd())
    command = (*command_line(find_toolchain(), options, arch, Path.cwd()), "-ferror-limit=0", "-fsyntax-only", "-")
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, errors="replace")
    refused = {int(number) for number in re.findall(r"^called:(\d+):\d+: error: ", done.stderr, re.MULTILINE)}
    return [declared[number - 1] for number in sorted(refused)]


if __name__ == "__main__":
    main()
