"""CUDA C++ where there is no clang: NVRTC compiles the function to PTX, which becomes LLVM IR and is inlined."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tle_raw.adapters.common.device_llvm.device import DeviceIR, compile_device_ir
from tle_raw.adapters.common.device_llvm.ptx_types import types_of_call
from tle_raw.adapters.cpp.headers import find_cccl, find_toolkit
from tle_raw.adapters.cpp.options import Options
from tle_raw.adapters.cpp.source_lines import LABEL
from tle_raw.adapters.cpp.toolchain import INCLUDE, own_headers_digest
from tle_raw.adapters.cuda.plain_unit import plain_unit
from tle_raw.adapters.cuda.symbol import Callee, location_of
from tle_raw.errors import CompilationFailed, Context, SourceLocation, ToolchainError, UnsupportedFeatureError
from tle_raw.fragments.adapter import CompilerOutput, Source
from tle_raw.fragments.bound import BoundSignature
from tle_raw.identity import entry_name
from tle_raw.knobs import knobs
from tle_raw.linker.inputs.library import LinkLibrary
from tle_raw.linker.link_libraries import types_in
from tle_raw.linker.tools.nvidia_libraries import NVRTC, find_library, library_identity, run_nvrtc
from tle_raw.target import Target
from tle_raw.targets.base import DeviceCodeWanted

_ERROR = re.compile(r"^(?P<file>.*?)\((?P<line>\d+)\): (?:catastrophic )?error(?: #\S+)?: (?P<said>.*)$", re.MULTILINE)


def nvrtc_identity() -> str:
    """What takes clang's place here; "" where NVRTC is missing, too."""
    if find_library(NVRTC) is None:
        return ""
    toolkit = find_toolkit(_text(knobs.cuda.toolkit))
    headers = f"CUDA headers {toolkit.version}" if toolkit else "no CUDA headers"
    return f"{library_identity(NVRTC)}, {headers}, tile.h {own_headers_digest()}"


def compile_by_nvrtc(
    source: Source, bound: BoundSignature, callee: Callee, options: Options, folder: Path, files: tuple[Path, ...],
    wanted: DeviceCodeWanted, target: Target,
) -> CompilerOutput:  # fmt: skip
    """Compile a device function for one call and one target.

    Raises
    ------
    UnsupportedFeatureError : a kernel, a block of more than one dim, or flags, which need clang.
    CompilationFailed : NVRTC refuses the code, at the user's line. LinkError : its PTX cannot be read.
    SignatureMismatchError : the function does not take what the signature passes.
    """
    place = location_of(callee.function) if callee.function else source.location
    _refuse_beyond(callee, options, bound, place)
    start = time.perf_counter()
    symbol = entry_name(f"nvrtc_{source.name}", [source.text, str(source.settings), bound.to_json()])
    # A constant is a number in the C++ text: the generated function never takes it.
    passed = replace(bound, parameters=bound.crossing)
    unit = plain_unit(source, symbol, bound, callee, options)
    flags = _flags(options, folder, wanted)
    done = run_nvrtc(unit, flags, timeout=knobs.compile_timeout)
    if not done.data:
        raise _refused(done.log, source)
    library = LinkLibrary(f"NVRTC's output for `{source.name}`", done.data, wanted.arch, knobs.compile_timeout)
    types = types_of_call(library, symbol, passed, place)
    seconds = time.perf_counter() - start
    text = library.text({symbol: types}, types_in(source.libraries))
    ir = DeviceIR(
        text, symbol, source.location, nvrtc_identity(), seconds, files, ("nvrtc", *flags),
        is_valid=True, libraries=source.libraries,
    )  # fmt: skip
    output = compile_device_ir(ir, source.name, passed, target)
    return replace(output, warnings=_warnings(done.log), route="nvrtc")


def _refuse_beyond(callee: Callee, options: Options, bound: BoundSignature, place: SourceLocation) -> None:
    reasons = [
        (callee.is_kernel, "a __global__ function as a region"),
        (bool(options.grid or options.shared), "grid= and shared="),
        (len([extent for extent in options.block if extent > 1]) > 1, "a block of several dims"),
        (any(p.is_descriptor or p.is_barrier or p.cxx_layout or p.is_memref for p in bound.crossing),
         "a shared buffer, a barrier or a descriptor"),
        (bool(options.flags), f"the flag {options.flags[0] if options.flags else ''}"),
    ]  # fmt: skip
    for applies, what in reasons:
        if applies:
            raise UnsupportedFeatureError(
                f"{what} needs clang: NVRTC, which is used without one, compiles device functions",
                hint="pip install 'tle_raw[cuda]'",
                context=Context(source=place),
            )


def _flags(options: Options, folder: Path, wanted: DeviceCodeWanted) -> Sequence[str]:
    toolkit = find_toolkit(_text(knobs.cuda.toolkit))
    cccl = find_cccl(_text(knobs.cuda.cccl), toolkit)
    here = options.file.parent if options.file else folder
    folders = [here, *options.include_dirs, INCLUDE, *([toolkit.root / "include"] if toolkit else [])]
    folders += [cccl] if cccl else []
    defines = (define for define in options.defines if define.startswith("_"))
    return (
        f"-arch={wanted.arch}", "-rdc=true", "-std=c++17", *(f"-I{path}" for path in folders),
        *(f"-D{define}" for define in (*defines, *wanted.defines)),
    )  # fmt: skip


def _refused(log: str, source: Source) -> CompilationFailed:
    found = _ERROR.search(log)
    if found is None:
        return CompilationFailed("NVRTC refused the code", log=log[-2000:], context=Context(source=source.location))
    file, line = found["file"], int(found["line"])
    if file == LABEL:
        return CompilationFailed(
            f"the function does not take what the signature passes: {found['said']}",
            log=log[-2000:],
            context=Context(source=source.location),
        )
    lines = source.text.splitlines()
    index = line - source.location.line
    text = lines[index] if file == source.location.file and 0 <= index < len(lines) else ""
    return CompilationFailed(
        found["said"], log=log[-2000:], context=Context(source=SourceLocation(file, line, 0, text))
    )


def _warnings(log: str) -> str:
    return "\n".join(line for line in log.splitlines() if "warning" in line)


def _text(value: object) -> str | None:
    return str(value) if value else None


def or_missing(missing: ToolchainError) -> None:
    """Go on where NVRTC can take the place of the toolchain that is missing.

    Raises
    ------
    ToolchainError : it is missing, too.
    """
    if find_library(NVRTC) is None:
        missing.hint = (
            f"{missing.hint}; without clang, NVRTC will do for device functions: pip install nvidia-cuda-nvrtc"
        )
        raise missing
