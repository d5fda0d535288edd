"""The wheel ``ttnn``: the vendor's kernel headers, linker scripts and firmware, downloaded once per environment.

It is never imported, so that it may be one for another Python. Of its 340 MB some 30 are unpacked.
"""

from __future__ import annotations

import fcntl
import os
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tle_raw.errors import ToolchainError
from tle_raw.linker.processes.child_process import Limits, run_child

WANTED = tuple(f"ttnn/tt_metal/{name}/" for name in ("hw", "tt-llk", "hostdevcommon", "api", "tools/profiler"))
SCRIPTS = "ttnn/runtime/hw/toolchain/"
FIRMWARE = "ttnn/tt_metal/pre-compiled/"
ARCHITECTURES = ("wormhole", "blackhole")
_SECONDS = 300


@dataclass(frozen=True)
class Wheel:
    """An unpacked wheel: its release, and the folder that holds ``ttnn/``."""

    release: str
    folder: Path

    @property
    def metal(self) -> Path:
        return self.folder / "ttnn/tt_metal"

    def linker_script(self, architecture: str, core: str) -> Path:
        """Of the kernels of a core: ``brisc``, ``ncrisc``, ``trisc0`` ..."""
        return self.folder / SCRIPTS / architecture / f"kernel_{core}.ld"

    def firmware(self, architecture: str, core: str) -> Path:
        """The ELF file whose symbols a kernel of that core uses."""
        return self.folder / "firmware" / architecture / f"{core}_weakened.elf"


def cache_folder() -> Path:
    """Where wheels lie: in the environment of this Python, so that they go when it goes."""
    return Path(sys.prefix) / "share/tle_raw/ttnn"


def find_wheel(release: str, folder: Path | None = None) -> Wheel:
    """The wheel of a release, downloaded with pip where it was not yet.

    Parameters
    ----------
    folder : where wheels are unpacked, by default ``cache_folder()``.

    Raises
    ------
    ToolchainError : it cannot be downloaded.
    """
    place = (folder or cache_folder()) / release
    ready = place / ".ready"
    if not ready.exists():
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ToolchainError(f"the wheel ttnn {release} has no place to be unpacked: {error}") from None
        with (place / ".lock").open("w") as lock:  # two runs of a test suite may ask at once
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not ready.exists():
                _download(release, place)
                ready.touch()
    return Wheel(release, place)


def is_there(release: str, folder: Path | None = None) -> bool:
    """Whether it was downloaded before."""
    return ((folder or cache_folder()) / release / ".ready").exists()


def _download(release: str, place: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += [
        "--retries",
        "1",
        "--no-deps",
        "--only-binary=:all:",
        "--python-version",
        "3.12",
        "--dest",
        str(place.absolute()),
    ]
    for oldest in (34, 35):
        command += ["--platform", f"manylinux_2_{oldest}_x86_64"]
    # With all of the user's environment: indices and proxies are named there.
    run = run_child([*command, f"ttnn=={release}"], limits=Limits(_SECONDS), environment=os.environ)
    wheels = list(place.glob("ttnn-*.whl"))
    if run.how or not wheels:
        raise ToolchainError(f"the wheel ttnn {release} cannot be downloaded: pip {run.how}", log=run.messages[-2000:])
    _unpack(wheels[0], place)
    wheels[0].unlink()


def _unpack(wheel: Path, place: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(place, [name for name in names if name.startswith((*WANTED, SCRIPTS))])
        ending = "/brisc/brisc.elf"
        keys = sorted(name.split("/")[-3] for name in names if name.startswith(FIRMWARE) and name.endswith(ending))
        for architecture in ARCHITECTURES:
            key = next(key for key in keys if _is_of(archive.read(f"{FIRMWARE}{key}{ending}"), architecture))
            (place / "firmware" / architecture).mkdir(parents=True, exist_ok=True)
            for core in ("brisc", "ncrisc", "trisc0", "trisc1", "trisc2"):
                for kind in ("", "_weakened"):
                    data = archive.read(f"{FIRMWARE}{key}/{core}/{core}{kind}.elf")
                    (place / "firmware" / architecture / f"{core}{kind}.elf").write_bytes(data)


def _is_of(elf: bytes, architecture: str) -> bool:
    return architecture.encode() in elf
