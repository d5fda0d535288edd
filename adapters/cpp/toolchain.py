"""Puts together what compiles CUDA C++ to LLVM IR on this machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import tle_raw
from tle_raw.adapters.cpp.clang import INSTALL, Clang, Refusal, clangs
from tle_raw.adapters.cpp.headers import (
    HostHeaders,
    Toolkit,
    cccl_version,
    find_cccl,
    find_toolkit,
    host_headers,
    stub_folder,
)
from tle_raw.errors import ToolchainError
from tle_raw.fragments.adapter import Finding
from tle_raw.knobs import knobs
from tle_raw.linker.tools.wheels import package_folder

INCLUDE = Path(tle_raw.__file__).parent / "include"


@dataclass(frozen=True)
class Toolchain:
    """A compiler and the headers that go with it."""

    clang: Clang
    toolkit: Toolkit
    cccl: Path | None
    stubs: Path
    host: HostHeaders

    @property
    def command(self) -> tuple[str, ...]:
        """How clang is started, without flags."""
        return self.clang.command

    @property
    def version(self) -> str:
        """The compiler's version, as it says it."""
        return self.clang.version

    @property
    def resource_dir(self) -> Path | None:
        """The folder of clang's own headers; None for what clang finds itself."""
        return self.clang.resource_dir

    @property
    def toolkit_version(self) -> str:
        """The version of CUDA's headers."""
        return self.toolkit.version

    @property
    def folders(self) -> tuple[Path, ...]:
        """Folders whose headers belong to the toolchain and not to the user."""
        include = self.toolkit.root / "include"
        own = [INCLUDE, self.stubs, include, include.resolve(), Path("/usr/include"), Path("/usr/lib/gcc")]
        own += [folder for folder in (self.cccl, self.resource_dir, self.clang.own_resource_dir) if folder]
        zig = package_folder("ziglang")
        own += [zig / "lib"] if zig else []  # its C++ headers
        return tuple(own)

    def identity(self) -> str:
        """One line that is the same for equal toolchains, wherever they are installed."""
        cccl = cccl_version(self.cccl) if self.cccl else "none"
        return (
            f"clang {self.version} ({self.clang.own_headers}), CUDA headers {self.toolkit_version} "
            f"({self.toolkit.origin if self.toolkit.origin.startswith('Triton') else 'toolkit'}), "
            f"CCCL {cccl}, {self.host.name}, tile.h {own_headers_digest()}"
        )


def own_headers_digest() -> str:
    """Digest of the headers that this package ships."""
    digest = hashlib.sha256()
    for header in sorted(path for path in INCLUDE.rglob("*") if path.is_file()):
        digest.update(header.read_bytes())
    return digest.hexdigest()[:16]


def belongs_to(folders: Sequence[Path], file: Path) -> bool:
    """True when the file lies in one of the folders, by its name or by what the name links to."""
    if str(file).startswith("<"):
        return True
    # most are found by name: what a name links to costs a look at each folder above it
    within = tuple(f"{str(folder).rstrip('/')}/" for folder in folders)
    return f"{file}/".startswith(within) or f"{file.resolve()}/".startswith(within)


def find_toolchain() -> Toolchain:
    """The toolchain that the knobs and this machine give.

    Raises
    ------
    ToolchainError : something is missing; the hint says what to install.
    """
    clang = _usable_clang(_text(knobs.cuda.clang))
    toolkit = find_toolkit(_text(knobs.cuda.toolkit))
    if toolkit is None:
        raise ToolchainError(
            "no CUDA headers were found, neither a toolkit's nor those inside Triton's wheel",
            hint="install a CUDA toolkit and set CUDA_HOME, or reinstall Triton",
        )
    host = host_headers()
    if host is None:
        raise ToolchainError(
            "no C++ headers were found for the host side of CUDA's headers",
            hint="pip install ziglang  (or install g++ and libc6-dev)",
        )
    return Toolchain(clang, toolkit, find_cccl(_text(knobs.cuda.cccl), toolkit), stub_folder(), host)


def _usable_clang(asked: str | None) -> Clang:
    refused: list[Refusal] = []
    for candidate in clangs(asked):
        if isinstance(candidate, Clang):
            return candidate
        refused.append(candidate)
    raise ToolchainError(
        "no clang that compiles CUDA for this Triton was found",
        log="\n".join(f"{refusal.path}: {refusal.reason}" for refusal in refused),
        hint=INSTALL,
    )


def _text(path: Path | str | None) -> str | None:
    return None if path is None else str(path)


def describe() -> tuple[Finding, ...]:
    """What was found and what is missing, for ``tle-raw doctor``. Raises nothing."""
    return tuple(_findings())


def _findings() -> Iterator[Finding]:
    try:
        clang = _usable_clang(_text(knobs.cuda.clang))
        yield Finding("clang", clang.version, f"{' '.join(clang.command)} ({clang.origin})", "", True)
    except ToolchainError as error:
        yield Finding("clang", "", error.log or error.message, error.hint, True)
    toolkit = None
    try:
        toolkit = find_toolkit(_text(knobs.cuda.toolkit))
    except ToolchainError as error:
        yield Finding("CUDA headers", "", error.message, error.hint, True)
    else:
        if toolkit:
            yield Finding("CUDA headers", toolkit.version, f"{toolkit.root} ({toolkit.origin})", "", True)
        else:
            yield Finding("CUDA headers", "", "", "a CUDA toolkit, or Triton's wheel", True)
    try:  # not required: only fragments that include certain headers need it
        cccl = find_cccl(_text(knobs.cuda.cccl), toolkit)
        missing = "pip install nvidia-cuda-cccl  (fp16, bf16, fp8, CUB and cooperative groups need it)"
        yield Finding("CCCL", cccl_version(cccl) if cccl else "", str(cccl or ""), "" if cccl else missing)
    except ToolchainError as error:
        yield Finding("CCCL", "", error.message, error.hint)
    host = host_headers()
    yield Finding("C++ headers", host.name if host else "", "", "" if host else "pip install ziglang", True)
