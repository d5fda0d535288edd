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
from tle_raw.targets.tenstorrent.simulator.toolchain import FIRST_USE, HostCompiler, host_compiler

HERE = Path(__file__).parent
INCLUDE, RUNTIME = HERE / "include", HERE / "runtime"
RELEASES = {"0.81.1": 8101, "0.70.1": 7001}
WARNINGS = ("-Wall", "-Wextra")
# Kernels hold addresses in 32 bits, as on the device; the simulator puts L1 where that is enough.
KERNELS = ("-std=c++20", "-O1", "-fPIC", "-shared", "-nostdlib", *WARNINGS, "-Wno-int-to-pointer-cast", f"-I{INCLUDE}")
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
    sanitizer : "thread" is ThreadSanitizer, for ``run_program(threads=True)``.

    Raises
    ------
    ToolchainError : there is no compiler, or ``main.cpp`` does not compile without a warning.
    """
    if release not in RELEASES:
        raise ToolchainError(f"release {release!r} of the SDK: the simulator knows {', '.join(RELEASES)}")
    compiler = host_compiler(sanitizer)
    target = Path(output) if output else Path(folder) / "main"
    with temporary_folder() as name:
        runtime = Path(name, "runtime.o")
        runtime.write_bytes(_runtime_object(compiler))
        said = compiler.run(
            "-std=c++20", "-O1", "-fPIE", "-pie", *WARNINGS, "-Werror", f"-I{INCLUDE}",
            f"-DTT_SIM_RELEASE={RELEASES[release]}", "main.cpp", str(runtime), *LIBRARIES, "-o", str(target.absolute()),
            folder=Path(folder).absolute(),
        )  # fmt: skip
        if said.strip():
            raise ToolchainError("the compiler has something to say about main.cpp", log=said)
    return target.absolute()


def _runtime_object(compiler: HostCompiler) -> bytes:
    """The simulator, from the cache or compiled now."""
    key = digest(sources_identity(), compiler.command)[:40]
    store = Store(Path(knobs.cache.dir).expanduser(), RUNTIMES)
    if not knobs.cache.enabled:
        return _compile_runtime(compiler)
    with store.lock(key, FIRST_USE):
        entry = store.load(key) or store.save(key, _compile_runtime(compiler), {"name": "Tenstorrent simulator"})
    return entry.data


def _compile_runtime(compiler: HostCompiler) -> bytes:
    command = json.dumps("\n".join((*compiler.command, *KERNELS)))
    with temporary_folder() as name:
        compiler.run(
            "-std=c++20", "-O2", "-fPIE", "-c", *WARNINGS, f"-I{INCLUDE}", f"-DTT_SIM_KERNEL_COMMAND={command}",
            str(RUNTIME / "runtime.cpp"), "-o", "runtime.o", folder=Path(name), seconds=FIRST_USE,
        )  # fmt: skip
        return Path(name, "runtime.o").read_bytes()


@functools.cache
def sources_identity() -> str:
    """Digest of the simulator's own files."""
    files = sorted(path for folder in (INCLUDE, RUNTIME) for path in folder.rglob("*") if path.is_file())
    return digest(*(part for file in files for part in (file.relative_to(HERE), file.read_bytes())))
