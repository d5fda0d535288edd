"""What units begin with, read by clang once and kept in the cache: headers are most of what a fragment costs.

A small fragment takes clang 0.66 s of processor time, of which 0.55 s go to CUDA's headers; with these precompiled it
takes 0.11 s. A GEMM of TileLang takes 3.8 s, and 0.4 s (zig's clang 21, CUDA 13.0, TileLang 0.1.14). The LLVM IR is
the same, but for the positions in ``!srcloc`` of inline assembly, which count the bytes of all files before.

To precompile headers takes more than to read them: with CUB's block reduction a fragment takes 1.8 s as it stands, and
2.1 and 0.3 s by way of them. So those that only some programs begin with are precompiled when they are asked for a
second time, unless it is known that they will be.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tle_raw.adapters.cpp.command import command_line, headers_line
from tle_raw.adapters.cpp.options import Options
from tle_raw.adapters.cpp.toolchain import Toolchain
from tle_raw.fragments.kept import kept
from tle_raw.identity import digest
from tle_raw.knobs import knobs
from tle_raw.linker.processes.child_process import Limits, default_memory, run_child
from tle_raw.linker.processes.run_compiler import Run, dependency_files, run_compiler
from tle_raw.linker.processes.temporary_folder import temporary_folder
from tle_raw.store import HEADERS, Entry, Store

_ERROR = re.compile(r"^(.+?):\d+:\d+: (fatal )?error: (.*)$", re.MULTILINE)
_INCLUDED = re.compile(r'^[^\S\n]*#[^\S\n]*include(?:_next)?[^\S\n]*([<"])([^<>"\n]+)', re.MULTILINE)
# A header's name as an #include may spell it: so many last parts of its path.
_PARTS = 3
_ASKED = "-asked"
# Those that cannot be made here, or that failed where plain headers did not: not tried again in this process.
_USELESS: set[str] = set()
# Bytes that all of them may take: CUDA's are 10 MB for each architecture, TileLang's 50 MB.
_ROOM = 512 * 1024 * 1024


def compile_unit(
    toolchain: Toolchain,
    options: Options,
    arch: str,
    folder: Path,
    unit: str,
    timeout: float,
    *,
    line_info: bool = True,
    more: tuple[str, ...] = (),
    output: tuple[str, ...] = (),
    beginning: str = "",
    again: bool = True,
) -> Run:
    """Compile a unit of CUDA C++ as ``run_compiler`` does, with what comes before it read already.

    ``more`` are flags that do not change what the headers mean. ``beginning`` is how the unit begins, as far as it is
    precompiled: headers that can be read twice. ``again`` says that another unit with that beginning follows; else it
    is precompiled from the second time on. What the compiler refuses elsewhere than in the code itself is compiled
    again without precompiled headers, so that errors are those of the code.
    """
    command = (*command_line(toolchain, options, arch, folder, line_info), *more)
    headers = headers_line(toolchain, options, arch, only_cudas=not beginning)
    header = _header(toolchain, headers, beginning, timeout, again or not beginning)
    if header is None or _hidden((folder, *options.include_dirs), header.meta["spelled"]):
        return run_compiler(command, unit, timeout, output)
    added = ("-Xclang", "-include-pch", "-Xclang", str(header.path))
    run = run_compiler((*command, *added), unit, timeout, output)
    if run.returncode not in (0, None) and not _is_of_the_code(run.log, header.meta["spelled"]):
        run = run_compiler(command, unit, timeout, output)
        if run.returncode == 0:
            _give_up(header.key)
        return run
    # What is shown repeats the compilation anywhere.
    return replace(run, command=(*command, *run.command[len(command) + len(added) :]))


def _is_of_the_code(log: str, spelled: Sequence[str]) -> bool:
    """Whether all errors stand in the unit or in files of the user's, where precompiled headers change none."""
    errors = _ERROR.findall(log)
    headers = tuple(name for name in spelled if "/" in name)
    return bool(errors) and all(
        (not fatal or text.endswith("file not found")) and not file.endswith(headers) for file, fatal, text in errors
    )


def _header(toolchain: Toolchain, command: tuple[str, ...], text: str, timeout: float, at_once: bool) -> Entry | None:
    """The precompiled headers of this command; None where nothing can be kept, or the compiler cannot make them, or
    nobody has asked for them before and they are not wanted ``at_once``."""
    key = digest(toolchain.identity(), command, text)[:40]
    if not knobs.cache.enabled or key in _USELESS:
        return None
    store = kept(HEADERS)
    with store.lock(key):
        entry = store.load(key)
        if entry is None and (at_once or _was_asked(store, key)):
            entry = _precompile(store, key, command, text, timeout)
    # A file in memory has no name in another process.
    return entry if entry and not entry.path.is_relative_to("/proc") else None


def _was_asked(store: Store, key: str) -> bool:
    """Whether somebody has asked for these headers before; from now on somebody has."""
    note = f"{key}{_ASKED}"
    if store.load(note) is not None:
        return True
    store.save(note, b"", {"name": "CUDA headers that were asked for once"}, flush=False)
    return False


def _precompile(store: Store, key: str, command: tuple[str, ...], text: str, timeout: float) -> Entry | None:
    with temporary_folder() as temporary:
        written, dependencies = Path(temporary, "headers.pch"), Path(temporary, "files.d")
        asked = ("-S", "-emit-llvm", "-Xclang", "-emit-pch", "-MD", "-MF", str(dependencies), "-o", str(written), "-")
        limits = Limits(timeout, default_memory())
        data = text.encode("utf-8", "surrogateescape")
        done = run_child((*command, *asked), data=data, folder=Path(temporary), limits=limits)
        if done.returncode != 0 or not written.is_file() or not dependencies.is_file():
            _USELESS.add(key)
            return None
        files = dependency_files(dependencies.read_text(encoding="utf-8", errors="surrogateescape"))
        meta = {"name": "precompiled CUDA headers", "spelled": sorted(_spellings(files, _searched_folders(command)))}
        entry = store.save(key, written.read_bytes(), meta)
        store.remove(f"{key}{_ASKED}")
        store.prune(max_bytes=_ROOM)
        return entry


def _spellings(files: Sequence[Path], searched: Collection[Path] = ()) -> set[str]:
    """How includes may spell the files. A name alone counts where one does, and not of a file in its own folder.

    Below folders that are ``searched``, those that are not are named by includes.
    """
    named = {name for file in files for name in _searched_names(file)}
    folders, below = set(map(str, searched)), tuple(f"{folder}/" for folder in searched)
    paths = [os.path.split(file) for file in files]
    alone = (name for folder, name in paths if folder in folders or not f"{folder}/".startswith(below))
    split = [str(file).split("/") for file in files]
    parts = ("/".join(names[-n:]) for names in split for n in range(2, _PARTS + 1))
    return {*parts, *named.intersection(alone)}


def _searched_folders(command: Sequence[str]) -> set[Path]:
    """The folders of a command line in which includes are looked up."""
    after = (Path(value) for flag, value in itertools.pairwise(command) if flag in ("-isystem", "-idirafter", "-I"))
    toolkits = (Path(flag.partition("=")[2], "include") for flag in command if flag.startswith("--cuda-path="))
    return {*after, *toolkits}


def _searched_names(file: Path) -> Iterator[str]:
    """The names for which a header's includes are looked up in folders other than its own."""
    text = file.read_bytes().decode("utf-8", "replace") if file.is_file() else ""
    here = os.path.dirname(file)
    for sign, name in _INCLUDED.findall(text):
        if sign == "<" or not os.path.isfile(os.path.join(here, name)):
            yield name


def _hidden(folders: Sequence[Path], spelled: Sequence[str]) -> bool:
    """Whether a folder of the user's has a header of the same name, which would be read in place of the known one."""
    return any(os.path.exists(os.path.join(folder, name)) for folder in folders for name in _possible(folder, spelled))


def _possible(folder: Path, spelled: Sequence[str]) -> Iterator[str]:
    """Names that begin with an entry of the folder: of thousands, to ask for each takes longer than small code does."""
    try:
        entries = frozenset(os.listdir(folder))
    except OSError:
        return iter(())
    return (name for name in spelled if name.partition("/")[0] in entries or name.startswith("."))


def _give_up(key: str) -> None:
    """The headers are not what the compiler finds today; the next process makes them again."""
    _USELESS.add(key)
    kept(HEADERS).remove(key)
