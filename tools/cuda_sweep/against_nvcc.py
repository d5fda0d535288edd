"""The same kernel by nvcc: from what this package gave clang of the file, with the same folders and macros.

The unit names the kernel as the package's own unit does, and nothing else of the file is compiled: host code and other
kernels are left out before, which nvcc would compile whatever is asked for. Where headers are shown to clang with other
contents, nvcc gets links to the whole tree with those files in their places.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from cuda_sweep.machine_code import MachineCode, find_kernel, kernels_of
from tle_raw.adapters.cpp.toolchain import INCLUDE

# As PyTorch's extensions are built, without which many of these files do not compile.
_FLAGS = ("-std=c++17", "-O3", "--expt-relaxed-constexpr", "--expt-extended-lambda", "-w", "-cubin")


@dataclass
class Asked:
    """What clang was asked last: the options, the unit, the other files that it was shown, the kernel's symbol."""

    options: Any = None
    arch: str = ""
    unit: str = ""
    flags: tuple[str, ...] = ()
    shown: dict[str, str] = field(default_factory=dict)
    symbol: str = ""


@dataclass
class Compared:
    """``ours`` and ``theirs``; ``trouble`` says why there is nothing of nvcc's."""

    ours: MachineCode | None = None
    theirs: MachineCode | None = None
    trouble: str = ""

    @classmethod
    def read(cls, stored: dict[str, Any]) -> Compared:
        """What ``asdict`` made of one."""
        ours, theirs = (MachineCode(**code) if code else None for code in (stored["ours"], stored["theirs"]))
        return cls(ours, theirs, stored["trouble"])


@contextmanager
def noting() -> Iterator[Asked]:
    """Note what the package asks clang for while this holds."""
    import tle_raw.adapters.cuda.adapter as adapter  # in the kernel's own process

    own, asked = adapter.compile_unit, Asked()

    def compile_unit(toolchain: Any, options: Any, arch: str, folder: Path, unit: str, *rest: Any, **more: Any) -> Any:
        run = own(toolchain, options, arch, folder, unit, *rest, **more)
        asked.options, asked.arch, asked.unit, asked.flags = options, arch, unit, more["more"]
        asked.shown = _shown(asked.flags)
        symbol = re.search(r"^@tle_raw_kernel = .*?ptr @(?:\"([^\"]+)\"|([\w.$]+))", run.text or "", re.MULTILINE)
        asked.symbol = (symbol[1] or symbol[2]) if symbol else ""
        return run

    adapter.compile_unit = compile_unit
    try:
        yield asked
    finally:
        adapter.compile_unit = own


def compare(cubin: bytes, asked: Asked, root: Path, nvcc: str, limit: float, kept: Path) -> Compared:
    """Compile by nvcc what was asked of clang, and count both.

    ``kept`` is a folder for this kernel: both cubins stay there to be read, and nvcc's is not made twice.
    """
    cuobjdump, theirs = _cuobjdump(nvcc), kept / "nvcc.cubin"
    kept.mkdir(parents=True, exist_ok=True)
    (kept / "ours.cubin").write_bytes(cubin)
    found = Compared(ours=next(iter(kernels_of(kept / "ours.cubin", cuobjdump).values())))
    try:
        if not theirs.is_file():
            with tempfile.TemporaryDirectory() as folder:
                theirs.write_bytes(compile_asked(asked, root, nvcc, limit, Path(folder)))
        kernels = kernels_of(theirs, cuobjdump)
        found.theirs = kernels[find_kernel(kernels, asked.symbol)]
    except (KeyError, ValueError, subprocess.SubprocessError) as error:
        found.trouble = str(error).strip("'")[:600]
    return found


def print_comparison(found: Sequence[tuple[str, Compared]]) -> None:
    """A line a kernel, ours and nvcc's: a * where ours has local memory, narrower loads or fewer that are read-only."""
    print("\nours/nvcc:")
    for name, compared in found:
        ours, theirs = compared.ours, compared.theirs
        if ours is None or theirs is None:
            print(f"  {name[:40]:40}  {compared.trouble.splitlines()[0][:110] if compared.trouble else 'not compiled'}")
            continue
        pairs = zip(asdict(ours).items(), asdict(theirs).values())
        words = [f"{key} {own}/{other}" for (key, own), other in pairs if own or other]
        print(f"{'*' if _is_behind(ours, theirs) else ' '} {name[:40]:40}  {', '.join(words)}")


def _is_behind(ours: MachineCode, theirs: MachineCode) -> bool:
    is_narrower = ours.loads and theirs.loads and ours.load_bytes / ours.loads < 0.9 * theirs.load_bytes / theirs.loads
    return bool(ours.stack > theirs.stack or is_narrower or (theirs.read_only and not ours.read_only))


def as_json(compared: Compared | None) -> dict[str, Any] | None:
    return asdict(compared) if compared else None


def _cuobjdump(nvcc: str) -> str:
    """The one beside nvcc, or on PATH: one as new as nvcc reads what both have made, Triton's own may not."""
    beside = Path(nvcc).with_name("cuobjdump")
    found = str(beside) if beside.is_file() else shutil.which("cuobjdump")
    if found is None:
        raise SystemExit("cuobjdump stands neither beside nvcc nor on PATH")
    return found


def compile_asked(asked: Asked, root: Path, nvcc: str, limit: float, folder: Path) -> bytes:
    tree = _shadow(asked.shown, root, folder / "tree") if asked.shown else root
    beside = _shown_beside(asked, root, folder / "beside")
    placed = {str(root): str(tree)}
    unit, made = folder / "unit.cu", folder / "unit.cubin"
    unit.write_text(_in_tree(_unit(asked), placed), encoding="utf-8", errors="surrogateescape")
    options = asked.options
    flags = [f"-D{define}" for define in options.defines]
    flags += [f"-I{_in_tree(str(path), placed)}" for path in options.include_dirs]
    package = ("-isystem", str(INCLUDE))  # headers that stand in for torch's, and for what CUB had once
    for flag, value in pairwise((*beside, *asked.flags, *package)):
        if flag in ("-isystem", "-idirafter"):
            flags += ["-Xcompiler", flag, "-Xcompiler", value]
    command = [nvcc, *_FLAGS, f"-arch={asked.arch}", *flags, "-o", str(made), str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=limit, cwd=folder)
    if done.returncode or not made.is_file():
        errors = [line for line in (done.stderr + done.stdout).splitlines() if "error" in line.lower()]
        raise ValueError(" | ".join(errors[:3]) or done.stderr[-300:] or "nvcc wrote nothing")
    return made.read_bytes()


def _unit(asked: Asked) -> str:
    """The declarations that stand in for headers, the user's text, the kernel's address."""
    options, address = (
        asked.options,
        re.search(r"^constexpr auto tle_raw_kernel_address = .*$", asked.unit, re.MULTILINE),
    )
    if address is None:
        raise ValueError("the unit has no kernel's address")
    text = f'#include "{options.file}"' if options.file else options.source
    named = "const void* const tle_raw_named = (const void*)tle_raw_kernel_address;"
    return "\n".join(["#include <cuda.h>", *options.declared, text, address[0], named, ""])


def _shown(flags: tuple[str, ...]) -> dict[str, str]:
    """Files with other contents than on disk, which go when clang is done."""
    overlay = next((value for flag, value in pairwise(flags) if flag == "-ivfsoverlay"), None)
    if overlay is None:
        return {}
    roots = json.loads(Path(overlay).read_text())["roots"]
    return {
        entry["name"]: Path(entry["external-contents"]).read_text(encoding="utf-8", errors="surrogateescape")
        for entry in roots
    }


def _shadow(shown: dict[str, str], root: Path, tree: Path) -> Path:
    """A tree like that below ``root``, of links but for the files with other contents and the folders above them."""
    files = {Path(name).relative_to(root): text for name, text in shown.items() if Path(name).is_relative_to(root)}
    opened = {Path(), *(folder for file in files for folder in file.parents)}
    for folder in sorted(opened):
        (tree / folder).mkdir(parents=True)
        for entry in (root / folder).iterdir():
            inside = entry.relative_to(root)
            if inside in files:
                (tree / inside).write_text(files[inside], encoding="utf-8", errors="surrogateescape")
            elif inside not in opened:
                (tree / inside).symlink_to(entry)
    return tree


def _shown_beside(asked: Asked, root: Path, folder: Path) -> tuple[str, ...]:
    """The flags for those of the files with other contents that are not below ``root``: torch's headers of the host."""
    searched = [Path(value) for flag, value in pairwise(asked.flags) if flag in ("-isystem", "-idirafter")]
    for name, text in asked.shown.items():
        found = [path for path in searched if Path(name).is_relative_to(path)]
        if not found or Path(name).is_relative_to(root):
            continue
        place = folder / Path(name).relative_to(max(found, key=lambda path: len(path.parts)))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8", errors="surrogateescape")
    return ("-isystem", str(folder)) if folder.is_dir() else ()


def _in_tree(text: str, placed: dict[str, str]) -> str:
    for root, tree in placed.items():
        text = text.replace(root, tree)
    return text
