"""From a fragment's source to a linkable LLVM module on disk, through the cache."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tle_raw.errors import ToolchainError, UnresolvedSymbolError, UnsupportedFeatureError
from tle_raw.fragments.adapter import Adapter, CompiledBefore, CompilerOutput, Source, offers
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.compile_facts import CompileFacts
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.fragments.libraries import GivenLibrary, compile_with_libraries
from tle_raw.identity import digest, package_identity
from tle_raw.registry import find_target
from tle_raw.store.entries import Entry, is_intact
from tle_raw.target import Target
from tle_raw.targets.device_code import find_device_code
from tle_raw.thread_lock import ThreadLock

if TYPE_CHECKING:
    from tle_raw.store import Store

_MEMORY: dict[str, CompiledFragment] = {}
_COMPILING: dict[str, ThreadLock] = {}
_GUARD = ThreadLock()
NO_COMPILER = "none"
ANY = "-any"


def compiler_identity(adapter: Adapter) -> str:
    """The adapter's compiler, or "none" on a machine that has none but may have a filled cache."""
    try:
        return adapter.compiler_identity()
    except ToolchainError:
        return NO_COMPILER


def compile_source(
    adapter: Adapter,
    source: Source,
    files: Sequence[Path],
    bound: BoundSignature,
    target: Target,
    *,
    compiler: str,
    inline: bool = True,
    libraries: Sequence[GivenLibrary] = (),
) -> CompiledFragment:
    """Compile, check and prepare ``source`` for one binding and target, or take it from the cache.

    ``compiler`` is what ``compiler_identity`` told when the fragment's key was made. Where it told of none, or a tool
    turns out to be missing, an entry that any compiler made of the same sources is taken.
    """
    content = digest(
        package_identity(),
        source.dialect,
        source.symbol,
        source.text,
        source.settings,
        bound.to_json(),
        target,
        inline,
        older_llvm(),
        *find_target(target.backend).settings(),
        *sorted(digest(f.read_bytes()) for f in files),
        *(library.digest for library in libraries),
    )
    key = f"{content[:40]}-{digest(compiler, *_place(source, target))[:16]}"
    with _lock_of(key):
        found = _MEMORY.get(key)
        if found is None or not is_intact(found.path) or not same_files(dict(found.missed)):
            taken = _any_compiler(key) if compiler == NO_COMPILER else key
            found = _from_disk_or_compiler(adapter, source, files, bound, target, inline, key, taken, libraries)
            _MEMORY[key] = found
        return found


def _place(source: Source, target: Target) -> tuple[object, ...]:
    """Where a fragment stands, if its code tells: emulated code, under debug, names its lines where it fails."""
    from tle_raw.knobs import knobs

    wanted = find_device_code(target) if knobs.debug else None
    return (source.location.file, source.location.line) if wanted is not None and wanted.is_emulated else ()


def derived(fragment: CompiledFragment, text: str) -> CompiledFragment:
    """The fragment with code that was made of its own for one kernel, in a file that Triton links."""
    key, store = f"{digest(text)[:40]}-derived", _store()
    entry = store.load(key) if _caching() else None
    entry = entry or store.save(key, text, {**fragment.to_json(), "created": time.time()})
    return replace(fragment, path=entry.path)


def _from_disk_or_compiler(
    adapter: Adapter,
    source: Source,
    files: Sequence[Path],
    bound: BoundSignature,
    target: Target,
    inline: bool,
    key: str,
    taken: str,
    libraries: Sequence[GivenLibrary],
) -> CompiledFragment:
    """``taken`` is the entry that will do: the one of this compiler, or without a compiler that of any."""
    if offers(adapter, CompiledBefore) and inline and not libraries:
        ready = cast(CompiledBefore, adapter).compile_fitted(source, bound, target, older_llvm())
        if ready is not None:
            output, module, path = ready
            made = CompileFacts.of(source.name, output, module, {})
            return CompiledFragment(**vars(made), path=path, target=target, bound=bound, inline=inline, cache_hit=False)
    store = _store()
    entry = _loaded(store, taken)  # most are there, and a lock takes longer than that
    if entry is not None and same_files(dict(entry.meta["missed"])):
        return _compiled(entry, bound, target, inline, cache_hit=True)
    if offers(adapter, CompiledBefore):
        facts, text = _compile(adapter, source, files, bound, target, inline, libraries)
        entry = store.save(key, text, _meta(facts), flush=False)
        return _compiled(entry, bound, target, inline, cache_hit=False)
    with store.lock(key):
        entry = _loaded(store, taken) or _shipped(store, key)
        if entry is not None and same_files(dict(entry.meta["missed"])):
            return _compiled(entry, bound, target, inline, cache_hit=True)
        try:
            facts, text = _compile(adapter, source, files, bound, target, inline, libraries)
        except (ToolchainError, UnsupportedFeatureError) as error:
            # A tool that only this source needs is missing, or the one that stands in for it (NVRTC) cannot do this:
            # what any compiler made of it will do here too.
            entry = _loaded(store, _any_compiler(key))
            if entry is None or not same_files(dict(entry.meta["missed"])):
                raise (_beside_packages(error, target) if isinstance(error, ToolchainError) else error) from None
            return _compiled(entry, bound, target, inline, cache_hit=True)
        meta = _meta(facts)
        entry = store.save(key, text, meta)
        store.save(_any_compiler(key), text, meta)
    return _compiled(entry, bound, target, inline, cache_hit=False)


def _meta(facts: CompileFacts) -> dict[str, Any]:
    return {**facts.to_json(), "created": time.time()}


def _loaded(store: Store, key: str) -> Entry | None:
    """From the cache."""
    if not _caching():
        return None
    return store.load(key)


def _shipped(store: Store, key: str) -> Entry | None:
    """What an installed package brings, whichever compiler made it: it is installed so that nothing is compiled."""
    from tle_raw.store import shipped_entry

    if not _caching():
        return None
    shipped = shipped_entry(_any_compiler(key))
    return store.save(_any_compiler(key), shipped.data, shipped.meta) if shipped else None


def _beside_packages(error: ToolchainError, target: Target) -> ToolchainError:
    """The error, where packages bring fragments that need no compiler: none of them is this one."""
    from tle_raw.store import shipping_packages

    packages = ", ".join(shipping_packages())
    if packages:
        error.hint += (
            f"; or `tle-raw compile` with these values for {target}: the compiled fragments of {packages} are of other "
            "values, another target, another code, another release of tle_raw, or the other side of Triton's releases "
            "(3.6; 3.7 and newer)"
        )
    return error


def _any_compiler(key: str) -> str:
    """The key of the same content, whichever compiler made it."""
    return key.partition("-")[0] + ANY


def _compile(
    adapter: Adapter, source: Source, files: Sequence[Path], bound: BoundSignature, target: Target, inline: bool,
    libraries: Sequence[GivenLibrary],
) -> tuple[CompileFacts, str]:  # fmt: skip
    """What was found out, and the text that is linked."""
    if libraries:
        output = compile_with_libraries(adapter, source, bound, target, libraries)
    else:
        output = adapter.compile(source, bound, target)
    try:
        module = find_target(target.backend).prepare(output, bound, inline=inline, older_llvm=older_llvm())
    except UnresolvedSymbolError as error:  # the adapter may know where it is defined
        raise output.device.explained(error) if output.device else error from None
    return CompileFacts.of(source.name, output, module, missed_files(output, files)), module.text


def _compiled(entry: Entry, bound: BoundSignature, target: Target, inline: bool, cache_hit: bool) -> CompiledFragment:
    facts = vars(CompileFacts.from_json(entry.meta))
    return CompiledFragment(**facts, path=entry.path, target=target, bound=bound, inline=inline, cache_hit=cache_hit)


def missed_files(output: CompilerOutput, scanned: Sequence[Path]) -> dict[str, str]:
    """The digest of each file that was read, but only the compiler could name: no key knows it."""
    known = {file.resolve() for file in scanned}
    return {str(file): digest(file.read_bytes()) for file in output.files if file.resolve() not in known}


def same_files(missed: Mapping[str, str]) -> bool:
    """Whether ``missed_files`` are what they were."""
    try:
        return all(digest(Path(f).read_bytes()) == content for f, content in missed.items())
    except OSError:
        return False


def older_llvm() -> bool:
    """Triton 3.6 carries an LLVM 22 from before its release, which does not read every LLVM 22 spelling."""
    from tle_raw.triton_version import VERSION  # Triton takes a second to import

    return VERSION <= (3, 6)


def _lock_of(key: str) -> ThreadLock:
    with _GUARD:
        return _COMPILING.setdefault(key, ThreadLock())


def _caching() -> bool:
    from tle_raw.knobs import knobs

    return bool(knobs.cache.enabled)


def _store() -> Store:
    from tle_raw.fragments.kept import kept

    return kept()
