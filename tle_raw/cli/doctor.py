"""``tle-raw doctor``: what this machine has for compiling fragments, and what to install."""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import tle_raw
from tle_raw.cli.amounts import bytes_text
from tle_raw.columns import columns
from tle_raw.errors import TLEError
from tle_raw.fragments.adapter import Adapter, DescribingAdapter, Finding
from tle_raw.knobs import knobs
from tle_raw.linker.processes.trusted_folders import why_distrusted
from tle_raw.registry import adapter_names, find_adapter
from tle_raw.store import Cache, Store

SUPPORTED_PYTHON = ((3, 11), (3, 13))
# Triton's version, and the LLVM inside its wheel.
LLVM_OF_TRITON = {
    (3, 6): "22.0.0git f6ded0be",
    (3, 7): "23.0.0git 1f126a6d",
    (3, 8): "23.0.0git 5f07f818",
    (3, 9): "24.0.0git b010a18d",
}
CPU_PACKAGES = (
    ("torch-mlir", "MLIR, for the way from Triton's IR to LLVM IR"),
    ("llvmlite", "LLVM, for code of this machine's CPU"),
    ("cffi", "calls into compiled kernels"),
    ("numpy", "needed by torch-mlir, and arrays"),
)
OK, MISSING, ABSENT = "ok", "MISSING", "-"  # ABSENT: not there, and not needed


@dataclass(frozen=True)
class Check:
    """One line. ``needed`` says that no fragment compiles without it, or none of the dialect whose line it is."""

    mark: str
    what: str
    found: str = ""
    where: str = ""
    install: str = ""
    needed: bool = True


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("doctor", help="what this machine has, and what to install")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    print(f"tle_raw {tle_raw.__version__}")
    descriptions = [a.describe() for _, a in _adapters() if isinstance(a, DescribingAdapter)]
    own = {d.title: [_check(finding) for finding in d.findings] for d in descriptions}
    shared = {
        "CPU target": list(cpu_target()),
        "Dialects": list(dialects()),
        "Cache": [cache()],
        "Settings that differ from the defaults": list(settings()),
    }
    sections = {"Python and Triton": [python(), *triton(), gpu()], **own, **shared}
    for title, checks in sections.items():
        print(f"\n{title}")
        print("\n".join(_rendered(checks)))
    usable = not any(_is_lacking(check) for checks in sections.values() for check in checks)
    needy = [title for title, checks in own.items() if any(check.needed for check in checks)]
    rest = [check for title, checks in sections.items() if title not in own for check in checks]
    for title in needy:
        works = not any(map(_is_lacking, [*own[title], *rest]))
        print(f"\n{title} compile on this machine." if works else f"\n{title} do NOT compile here yet.")
    return 0 if usable else 1


def _is_lacking(check: Check) -> bool:
    return check.needed and check.mark == MISSING


def _check(finding: Finding) -> Check:
    mark = MISSING if finding.install else OK
    return Check(mark, finding.what, finding.found, finding.where, finding.install, finding.is_required)


def python() -> Check:
    version = platform.python_version()
    supported = SUPPORTED_PYTHON[0] <= sys.version_info[:2] <= SUPPORTED_PYTHON[1]
    where = f"{platform.system()} {platform.machine()}, {sys.executable}"
    return Check(OK if supported else MISSING, "Python", version, where, "" if supported else "Python 3.11 to 3.13")


def triton() -> Iterator[Check]:
    try:
        import triton

        from tle_raw.triton_version import VERSION
    except Exception as error:  # a broken installation raises more than ImportError
        yield Check(MISSING, "Triton", "", str(error), "pip install 'triton>=3.6,<3.10'")
        return
    llvm = LLVM_OF_TRITON.get(VERSION)
    where = str(triton.__path__[0])
    if llvm is None:
        yield Check(MISSING, "Triton", triton.__version__, where, "a supported version: 3.6 to 3.9")
        return
    yield Check(OK, "Triton", triton.__version__, where)
    yield Check(OK, "LLVM in Triton", llvm)
    for name in ("ptxas", "ptxas_blackwell"):
        yield _ptxas(name)


def _ptxas(name: str) -> Check:
    import triton

    what = name.replace("_", "-")
    try:
        tool = getattr(triton.knobs.nvidia, name)
    except Exception as error:  # Triton raises RuntimeError when it finds none
        return Check(MISSING, what, "", str(error).strip(), "reinstall Triton, or set TRITON_PTXAS_PATH")
    return Check(OK, what, tool.version, tool.path)


def gpu() -> Check:
    try:
        import torch
    except ImportError:
        return Check(
            ABSENT, "GPU", "", "torch is not installed: kernels compile for GPUs, and run on the CPU", needed=False
        )
    if not torch.cuda.is_available():
        return Check(
            ABSENT,
            "GPU",
            "",
            f"torch {torch.__version__} sees none: kernels compile for GPUs, and run on the CPU",
            needed=False,
        )
    major, minor = torch.cuda.get_device_capability()
    found = f"{torch.cuda.get_device_name()}, cuda:{major}{minor}"
    return Check(OK, "GPU", found, f"{torch.cuda.device_count()} in all, torch {torch.__version__}", needed=False)


def cpu_target() -> Iterator[Check]:
    """What kernels need to be compiled for, and launched on, this machine's CPU."""
    missing = False
    for package, brings in CPU_PACKAGES:
        try:
            yield Check(OK, package, version(package), brings, needed=False)
        except PackageNotFoundError:
            missing = True
            yield Check(MISSING, package, "", brings, "pip install 'tle_raw[cpu]'", needed=False)
    if not missing:
        yield _host_cpu()
        yield _driver()


def _host_cpu() -> Check:
    from tle_raw.host.cpu import host_cpu

    try:
        cpu = host_cpu()
    except TLEError as error:
        return Check(MISSING, "CPU", "", error.message, error.hint, needed=False)
    return Check(OK, "CPU", cpu.name, f"vectors of {cpu.vector_bytes} bytes", needed=False)


def _driver() -> Check:
    """Whose driver Triton would launch with."""
    try:
        import triton

        name = type(triton.runtime.driver.active).__name__
    except Exception as error:  # Triton raises RuntimeError, and a driver whatever its library does
        return Check(MISSING, "launches go to", "", str(error).strip(), "see the message", needed=False)
    where = "the CPU" if name == "CpuDriver" else "a GPU; set TLE_RAW_TARGET=cpu for the CPU"
    return Check(OK, "launches go to", where, name, needed=False)


def dialects() -> Iterator[Check]:
    """Adapters import nothing but this package and Triton at first: one that cannot be imported is broken."""
    for name, adapter in _adapters():
        if isinstance(adapter, TLEError):
            yield Check(MISSING, name, "", adapter.message, adapter.hint)
        else:
            yield Check(OK, name)


def _adapters() -> Iterator[tuple[str, Adapter | TLEError]]:
    """Each dialect's adapter, or why there is none."""
    for name in adapter_names():
        try:
            yield name, find_adapter(name)
        except TLEError as error:
            yield name, error


def cache() -> Check:
    try:
        whole, store = Cache(knobs.cache.dir), Store(knobs.cache.dir)
    except TLEError as error:
        return Check(MISSING, "folder", "", error.message, error.hint)
    size = f"{len(whole.entries())} entries, {bytes_text(whole.size())}"
    if store.is_writable():
        return Check(OK, "folder", size, str(whole.root))
    install = "set TLE_RAW_CACHE_DIR to a folder that only you can write; until then each process compiles its own"
    where = f"{store.folder} cannot be written, or not by this user alone: {why_distrusted(store.folder)}"
    return Check(MISSING, "folder", size, where.rstrip(": "), install, needed=False)


def settings() -> Iterator[Check]:
    changed = [d for d in knobs.describe() if d.differs]
    for setting in changed:
        if setting.error:
            yield Check(MISSING, setting.environment, "", setting.error, setting.doc)
        else:
            yield Check(OK, setting.environment, str(setting.value), f"default: {setting.default}")
    if not changed:
        yield Check(ABSENT, "none", needed=False)


def _rendered(checks: list[Check]) -> Iterator[str]:
    lines = columns([(c.mark, c.what, c.found, _first(c.where)) for c in checks])
    for check, line in zip(checks, lines, strict=True):
        yield line
        yield from ("      " + more for more in check.where.splitlines()[1:])
        if check.install:
            yield f"      install or change: {check.install}"


def _first(text: str) -> str:
    return text.partition("\n")[0]
