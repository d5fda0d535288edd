"""Builds host programs: ``main.cpp`` with the simulator's object, which is compiled once for each compiler and kept."""

from __future__ import annotations

import functools
import json
from pathlib import Path

from tle_raw.errors import ToolchainError
from tle_raw.identity import digest
from tle_raw.knobs import knobs
from tle_raw.linker.processes.temporary_folder import temporary_folder
from tle_raw.store import RUNTIMES, Store
from tle_raw.targets.tenstorrent.simulator.host_headers import INCLUDE, precompiled
from tle_raw.targets.tenstorrent.simulator.toolchain import FIRST_USE, HostCompiler, host_compiler

HERE = Path(__file__).parent
RUNTIME = HERE / "runtime"
RELEASES = {"0.81.1": 8101, "0.70.1": 7001}
WARNINGS = ("-Wall", "-Wextra")
# Kernels hold addresses in 32 bits, as on the device; the simulator puts L1 where that is enough.
KERNELS = ("-std=c++20", "-O1", "-fPIC", "-shared", *WARNINGS, "-Wno-int-to-pointer-cast", f"-I{INCLUDE}")
LIBRARIES = ("-rdynamic", "-ldl", "-lpthread")


def build_program(
    folder: str | Path, output: str | Path | None = None, *, release: str = "0.81.1", sanitizer: str = ""
) -> Path:
    """Compile ``folder/main.cpp`` into a program that runs its kernels in the simulator.

    The kernels are compiled when the program creates them, in the folder that it then runs in.

    Parameters
    ----------
    output : the program; by default ``folder/main``.
    release : of the SDK, in whose spelling the kernels are: "0.81.1" or "0.70.1".
    sanitizer : "thread" is ThreadSanitizer, for which each kernel of each core gets a thread of its own.

    Raises
    ------
    ToolchainError : there is no compiler, or ``main.cpp`` does not compile without a warning.
    """
    if release not in RELEASES:
        raise ToolchainError(f"release {release!r} of the SDK: the simulator knows {', '.join(RELEASES)}")
    compiler = host_compiler(sanitizer)
    target = Path(output) if output else Path(folder) / "main"
    flags = ("-std=c++20", "-O1", "-fPIE", *WARNINGS, f"-I{INCLUDE}", f"-DTT_SIM_RELEASE={RELEASES[release]}")
    source = Path(folder).absolute()
    with temporary_folder() as name:
        runtime = Path(name, "runtime.o")
        runtime.write_bytes(_runtime_object(compiler))
        rest = ("-Werror", "-pie", "main.cpp", str(runtime), *LIBRARIES, "-o", str(target.absolute()))
        header = precompiled(compiler, flags, sources_identity())
        try:
            if header is None:
                raise ToolchainError("no precompiled headers")
            compiler.run(*flags, "-include-pch", str(header), *rest, folder=source)
        except ToolchainError:
            # Errors are those of the code itself, and old precompiled headers are none.
            compiler.run(*flags, *rest, folder=source)
    return target.absolute()


def _runtime_object(compiler: HostCompiler) -> bytes:
    """The simulator, from the cache or compiled now."""
    # A kernel needs no library; zig's own driver would leave out the headers too.
    bare = () if compiler.is_zig_driver else ("-nostdlib",)
    lines = ("-g1",) if compiler.sanitized else ()  # reports name them
    kernels = (*compiler.command, *KERNELS, *bare, *lines)
    flags = (
        "-std=c++20", "-O1" if compiler.sanitized else "-O2", "-fPIE", "-c", *WARNINGS, f"-I{INCLUDE}",
        "-DTT_SIM_KERNEL_COMMAND=" + json.dumps("\n".join(kernels)),
    )  # fmt: skip
    if not knobs.cache.enabled:
        return _compile_runtime(compiler, flags)
    key = digest(sources_identity(), compiler.command, flags)[:40]
    store = Store(Path(knobs.cache.dir).expanduser(), RUNTIMES)
    with store.lock(key, FIRST_USE):
        entry = store.load(key) or store.save(key, _compile_runtime(compiler, flags), {"name": "Tenstorrent simulator"})
    return entry.data


def _compile_runtime(compiler: HostCompiler, flags: tuple[str, ...]) -> bytes:
    with temporary_folder() as name:
        source = str(RUNTIME / "runtime.cpp")
        compiler.run(*flags, source, "-o", "runtime.o", folder=Path(name), seconds=FIRST_USE)
        return Path(name, "runtime.o").read_bytes()


@functools.cache
def sources_identity() -> str:
    """Digest of the simulator's own files."""
    files = sorted(path for folder in (INCLUDE, RUNTIME) for path in folder.rglob("*") if path.is_file())
    return digest(*(part for file in files for part in (file.relative_to(HERE), file.read_bytes())))
