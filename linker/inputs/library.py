"""One file of device code as a library: which functions it has, and LLVM IR of those that are wanted."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeAlias

from tle_raw.errors import FragmentSourceError, LinkError, SourceLocation, UnsupportedFeatureError
from tle_raw.linker.from_ptx.convert import convert
from tle_raw.linker.from_ptx.read_module import PtxModule, UnreadablePtxError, read_ptx_module
from tle_raw.linker.host_modules import HOST, refuse_kind, refuse_triple
from tle_raw.linker.inputs.archive import members
from tle_raw.linker.inputs.bitcode import disassemble, function_names
from tle_raw.linker.inputs.fatbin import best_image, ptx_images
from tle_raw.linker.inputs.kept_texts import KeepsTexts
from tle_raw.linker.inputs.kinds import THIN_ARCHIVE, kind_of
from tle_raw.linker.inputs.lto_ir import defined, located, lto_module
from tle_raw.linker.llvm.aliases import without_aliases
from tle_raw.linker.llvm.cut import cut
from tle_raw.linker.llvm.functions import FunctionType, read_function
from tle_raw.linker.llvm.redefined import refuse_redefinitions
from tle_raw.linker.llvm.text import Entity, Module, UnreadableIRError, read_module

Types: TypeAlias = Mapping[str, FunctionType | None]
_FOREIGN = ("x86_64", "aarch64", "amdgcn", "spir", "arm", "riscv", "i686", "i386")
LARGE = 1 << 20  # bitcode of which only what is wanted is written as text


@dataclass(frozen=True)
class LinkLibrary:
    """A library of device functions.

    Attributes
    ----------
    name : for messages and reports: a file's name.
    data : the file's content: LLVM IR text or bitcode, PTX, a fatbin, LTO-IR, or an archive of these.
    arch : the GPU that code is wanted for, such as ``sm_90a``: of several images the newest that it runs is taken; or
        ``cpu``, this machine's.
    timeout : seconds that a tool may take.
    kept : where the cuts of large bitcode are kept; None keeps them in this process only.
    host_variables : variables of LLVM IR that come with any of its functions, for a host that looks them up.
    """

    name: str
    data: bytes
    arch: str = "sm_80"
    timeout: float = 600.0
    kept: KeepsTexts | None = field(default=None, compare=False)
    host_variables: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """What the file is: llvm, bitcode, ptx, fatbin, lto-ir, archive."""
        return kind_of(self.data)

    def functions(self) -> frozenset[str]:
        """The functions that it defines for others. Of LTO-IR they are not known: ask ``defines``.

        Raises
        ------
        LinkError : the file is damaged, or for other processors. ToolchainError : a tool that reads it is missing.
        """
        return frozenset() if self.kind == "lto-ir" else _functions(self)

    def defines(self, names: Collection[str]) -> frozenset[str]:
        """Those of the names that it defines; raises as ``functions``."""
        if self.kind == "lto-ir":
            return defined(self.name, self.data, names, self.arch, self.timeout)
        return self.functions() & frozenset(names)

    def type_of(self, name: str) -> FunctionType | None:
        """The type of a function that it defines as LLVM IR; None where it does not, or as PTX, which has no types."""
        if self.kind not in ("llvm", "bitcode") or name not in self.functions():
            return None
        module = _llvm(self, (name,))
        return next(read_function(module, e).type for e in module.of_kind("define") if e.name == name)

    def declared_type(self, name: str) -> FunctionType | None:
        """The type by which LLVM IR here calls a function of another module; None where it calls none of that name."""
        if self.kind not in ("llvm", "bitcode") or len(self.data) > LARGE:
            return None
        module = _llvm(self, ())
        return next((read_function(module, e).type for e in module.of_kind("declare") if e.name == name), None)

    def text(self, wanted: Types, outside: Callable[[str], FunctionType | None] = lambda name: None) -> str:
        """LLVM IR of the wanted functions and what they reach; they are called with the types that are given.

        ``outside`` tells the types of functions that PTX only declares, and another library defines.

        Raises
        ------
        LinkError, AbiError, SymbolError : as the kind of file has it.
        """
        kind = self.kind
        if kind in ("ptx", "fatbin", "object", "cubin"):
            with _located(self.name):
                return convert(_ptx(self._ptx_text()), wanted, outside)
        if kind == "lto-ir":
            made = lto_module(self.name, self.data, tuple(sorted(wanted)), self.arch, self.timeout)
            with located(self.name):
                return convert(made, wanted, outside)
        module = _llvm(self, tuple(wanted))
        _check_triple(self, module)
        variables = [e.name for e in module.of_kind("global") if e.name in self.host_variables]
        return cut(module, [*wanted, *variables]).text

    def sizes(self, name: str) -> tuple[tuple[int, ...], int] | None:
        """The bytes of a PTX function's parameters, and of its result; None of LLVM IR, which has types."""
        kind = self.kind
        if kind in ("llvm", "bitcode"):
            return None
        if kind == "lto-ir":
            module = lto_module(self.name, self.data, (name,), self.arch, self.timeout)
        else:
            with _located(self.name):
                module = _ptx(self._ptx_text())
        function = module.functions[name]
        return tuple(p.bytes for p in function.parameters), function.result.bytes if function.result else 0

    def _ptx_text(self) -> str:
        """PTX itself, or the best one of those that it holds."""
        if self.kind == "ptx":
            return self.data.decode("utf-8", "replace")
        images = ptx_images(self.data, self.name, self.timeout)
        return best_image(images, self.arch, self.name)


def open_library(
    name: str, data: bytes, arch: str = "sm_80", timeout: float = 600.0, kept: KeepsTexts | None = None
) -> tuple[LinkLibrary, ...]:
    """The libraries that a file holds: an archive's members each are one.

    Raises
    ------
    LinkError : the file is none that can be linked, or was cut. UnsupportedFeatureError : it has nothing for a CPU.
    """
    kind = kind_of(data)
    if arch == HOST:
        refuse_kind(name, kind)
    if kind == "archive":
        opened = [LinkLibrary(f"{name}({each})", content, arch, timeout, kept) for each, content in members(data, name)]
        for library in opened if arch == HOST else ():
            refuse_kind(library.name, library.kind)
        usable = tuple(library for library in opened if library.kind)
        if not usable:
            raise LinkError(f"the archive {name} holds no device code", hint="it may hold host code only")
        return usable
    if not kind:
        raise _no_device_code(name, data)
    if kind == "object" and arch != HOST and not _has_images(name, data, timeout):
        raise LinkError(
            f"{name} is an object of a host without device code",
            hint="compile it by nvcc with PTX (-gencode arch=compute_…,code=compute_…), or pass the PTX",
        )
    return (LinkLibrary(name, data, arch, timeout, kept),)


def _has_images(name: str, data: bytes, timeout: float) -> bool:
    try:
        return bool(ptx_images(data, name, timeout))
    except LinkError:  # no object that a tool can read
        return False


@contextmanager
def _located(name: str) -> Iterator[None]:
    """PTX that is not understood is told with the file's name."""
    try:
        yield
    except UnreadablePtxError as error:
        place = error.context.source
        error.context = replace(error.context, source=SourceLocation(name, place.line if place else 1))
        raise


def _no_device_code(name: str, data: bytes) -> LinkError:
    if data.startswith(THIN_ARCHIVE):
        return LinkError(
            f"{name} is a thin archive, which holds names of files only",
            hint="make it again without ar's option T, or pass its members",
        )
    return LinkError(
        f"{name} is no device code that can be linked",
        hint="it takes LLVM IR (.ll, .bc), PTX, fatbins, LTO-IR, and archives (.a) of these",
    )


@lru_cache(maxsize=128)
def _functions(library: LinkLibrary) -> frozenset[str]:
    kind, data = library.kind, library.data
    if kind in ("ptx", "fatbin", "object", "cubin"):
        try:
            text = library._ptx_text()
        except LinkError:
            if kind == "object":
                return frozenset()  # a member of an archive that is host code
            raise
        with _located(library.name):
            functions = _ptx(text).functions
        return frozenset(name for name, f in functions.items() if f.body is not None and not f.is_entry)
    if kind == "bitcode" and len(data) > LARGE:
        return _named(library.name, lambda: _large_names(library))
    module = _llvm(library, ())
    _check_triple(library, module)
    visible = (e for e in module.of_kind("define") if not _is_internal(module, e))
    return frozenset(e.name for e in visible)


def _is_internal(module: Module, entity: Entity) -> bool:
    return any(token.text in ("internal", "private") for token in read_function(module, entity).before)


def _named(name: str, read: Callable[[], frozenset[str]]) -> frozenset[str]:
    try:
        return read()
    except FragmentSourceError as error:
        raise LinkError(f"{name}: {error.message}", log=error.log, hint=error.hint) from None


def _large_names(library: LinkLibrary) -> frozenset[str]:
    key = f"{hashlib.sha256(library.data).hexdigest()[:40]}-names"
    text = library.kept.load_text(key) if library.kept else None
    if text is not None:
        return frozenset(text.split("\n")) - {""}
    names = function_names(library.data, library.timeout)
    if library.kept:
        library.kept.save_text(key, "\n".join(sorted(names)))
    return names


def _large_text(library: LinkLibrary, wanted: tuple[str, ...]) -> str:
    state = hashlib.sha256(library.data)
    state.update("\n".join(wanted).encode())
    key = f"{state.hexdigest()[:40]}-cut"
    text = library.kept.load_text(key) if library.kept else None
    if text is None:
        text = disassemble(library.data, library.timeout, wanted)
        if library.kept:
            library.kept.save_text(key, text)
    return text


def _llvm(library: LinkLibrary, wanted: tuple[str, ...]) -> Module:
    data, name, is_text = library.data, library.name, library.kind != "bitcode"
    try:
        if is_text:
            text = data.decode("utf-8-sig")
        else:
            text = _large_text(library, wanted) if len(data) > LARGE else disassemble(data, library.timeout)
        module = read_module(text)
    except FragmentSourceError as error:
        raise LinkError(f"{name}: {error.message}", log=error.log, hint=error.hint) from None
    except UnreadableIRError as error:
        raise LinkError(
            f"{name}: {error.message}", hint="the file was cut, or is of an LLVM that is not known"
        ) from None
    if is_text:  # bitcode has none
        refuse_redefinitions(module, SourceLocation(name, 1), name)
    return module.once(without_aliases)


def _check_triple(library: LinkLibrary, module: Module) -> None:
    for entity in module.of_kind("target"):
        text = module.source(entity)
        if "triple" not in text:
            continue
        if library.arch == HOST:
            refuse_triple(library.name, text)
        elif any(f'"{foreign}' in text for foreign in _FOREIGN):
            raise UnsupportedFeatureError(
                f"{library.name} is code for another processor: {text.partition('=')[2].strip()}",
                hint="compile it for nvptx64-nvidia-cuda",
            )


@lru_cache(maxsize=64)
def _ptx(text: str) -> PtxModule:
    return read_ptx_module(text)
