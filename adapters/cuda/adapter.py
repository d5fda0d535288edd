"""The CUDA C++ dialect: from a declaration to LLVM IR text with one entry function."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tle_raw.adapters.common.whole_kernel import GlobalKernel, make_whole_kernel
from tle_raw.adapters.cpp.command import without_unswitching
from tle_raw.adapters.cpp.declarations import functions
from tle_raw.adapters.cpp.lean_headers import with_small_floats
from tle_raw.adapters.cpp.optimise import UNOPTIMISED, optimise
from tle_raw.adapters.cpp.options import read_options
from tle_raw.adapters.cpp.preamble import headers_in_front
from tle_raw.adapters.cpp.precompiled_headers import compile_unit
from tle_raw.adapters.cpp.source import read_file
from tle_raw.adapters.cpp.source_lines import line_directive
from tle_raw.adapters.cpp.toolchain import Toolchain, find_toolchain
from tle_raw.adapters.cpp.toolchain import describe as describe_toolchain
from tle_raw.adapters.cuda.attempts import (
    device_code_of,
    explained_by_source,
    kernel_use,
    marked_as_nvccs,
    optimiser_of,
    read_files,
    refuse_what_no_gpu_takes,
    struct_slots,
    with_clusters,
)
from tle_raw.adapters.cuda.explain import Attempt, check_written, explain, is_kernel_after_all, warnings_text, with_text
from tle_raw.adapters.cuda.host_code import compile_device_code
from tle_raw.adapters.cuda.instances import plain_symbol
from tle_raw.adapters.cuda.kernel_entry import add_entry, add_thread_entry
from tle_raw.adapters.cuda.kernel_use import SYMBOL
from tle_raw.adapters.cuda.left_out import refuse_defaults
from tle_raw.adapters.cuda.legacy_warps import masked_text
from tle_raw.adapters.cuda.nvrtc import compile_by_nvrtc, nvrtc_identity, or_missing
from tle_raw.adapters.cuda.prototype import prototype_text
from tle_raw.adapters.cuda.read_signature import opaque_parameters
from tle_raw.adapters.cuda.refusals import refuse_clusters
from tle_raw.adapters.cuda.relaxed_atomics import relaxed_atomics
from tle_raw.adapters.cuda.returned import returned_arguments
from tle_raw.adapters.cuda.source_facts import (
    asks_for_no_macro,
    files_of,
    functions_of,
    header_digests,
    options_of,
    own_signature,
    prototype_of_source,
    users_files,
    whole_symbol,
)
from tle_raw.adapters.cuda.symbol import (
    Callee,
    choose_function,
    default_symbol,
    split_symbol,
)
from tle_raw.adapters.cuda.together import Groups
from tle_raw.adapters.cuda.wrapper import Unit, takes_small_floats, write_unit
from tle_raw.errors import (
    DialectError,
    FragmentSourceError,
    SourceLocation,
    TLEError,
    ToolchainError,
)
from tle_raw.fragments.adapter import Adapter, CompilerOutput, Declaration, Description, Source
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.signature import Signature
from tle_raw.fragments.source_text import location_of_text
from tle_raw.knobs import knobs
from tle_raw.linker.llvm.ask_once import ask_once
from tle_raw.linker.llvm.finished_loops import finish_loops
from tle_raw.linker.llvm.local_arrays import local_arrays
from tle_raw.linker.llvm.thread_assembly import without_warps
from tle_raw.linker.llvm.uniform import is_divided_by_threads
from tle_raw.linker.llvm.unroll_warp_loops import unroll_warp_loops
from tle_raw.linker.processes.run_compiler import Run
from tle_raw.target import Target
from tle_raw.targets.base import DeviceCodeWanted
from tle_raw.targets.device_code import find_device_code, wanted_device_code


class CudaAdapter:
    """``dialect("cuda", file=… | source=…, symbol=, include_dirs=, defines=, flags=, block=, grid=, shared=)``."""

    name = "cuda"

    def __init__(self) -> None:
        self._groups = Groups()

    def read(self, declaration: Declaration) -> Source:
        """Validate the options and read the source anew.

        Raises
        ------
        DialectError : an option is unknown or wrong.
        FragmentSourceError : the source file cannot be read.
        """
        options = read_options(declaration.options, declaration.folder)
        if options.file:
            text, location = read_file(options.file), SourceLocation(str(options.file), 1)
        else:
            text = options.source or ""
            location = location_of_text(text, declaration.location)
        if not text.strip():
            raise FragmentSourceError("the source is empty")
        symbol = plain_symbol(options.symbol or "", text)
        symbol = symbol or default_symbol(declaration.name, functions(text), text)
        # Not the folder: what is read through it, `files` says, and a filled cache serves a checkout anywhere.
        settings = dict(options.settings(), line_info=str(knobs.line_info))
        data = (options, declaration.folder.absolute())
        source = Source(self.name, declaration.name, symbol, text, location, tuple(sorted(settings.items())), data=data)
        try:
            source = replace(source, symbol=whole_symbol(source))
            return replace(source, signature=own_signature(source, declaration))
        except TLEError as error:
            raise with_text(source, error) from None

    def files(self, source: Source) -> tuple[Path, ...]:
        """The source file and the user's headers that it includes, sorted."""
        return files_of(source)

    def compiler_identity(self) -> str:
        """One line that names the compiler and its headers by version: clang's, or NVRTC's where there is no clang."""
        try:
            return find_toolchain().identity()
        except ToolchainError as missing:
            or_missing(missing)
            return nvrtc_identity()

    def describe(self) -> Description:
        """The clang and the headers of this machine, for ``tle-raw doctor``."""
        return Description("CUDA fragments", describe_toolchain())

    def compile(self, source: Source, bound: BoundSignature, target: Target) -> CompilerOutput:
        """Compile for one call and one target.

        Raises
        ------
        ToolchainError : a tool or a header is missing.
        SymbolError : the function is missing, overloaded, or no device function.
        SignatureMismatchError : the function does not take what the signature passes.
        CompilationFailed : the compiler refused the code, crashed or took too long.
        UnsupportedFeatureError : an instruction that a GPU's launch cannot have.
        """
        wanted = with_clusters(source, wanted_device_code(target, "the cuda dialect compiles"))
        try:
            return self._by_nvrtc(source, bound, wanted, target) or self._compile(source, bound, wanted)
        except TLEError as error:
            raise explained_by_source(source, error) from None

    def _by_nvrtc(
        self, source: Source, bound: BoundSignature, wanted: DeviceCodeWanted, target: Target
    ) -> CompilerOutput | None:
        """Compiled by NVRTC, where there is no clang and NVRTC is there; else None."""
        try:
            self._toolchain(source, bound, wanted)
            return None
        except ToolchainError as missing:
            or_missing(missing)
        options, folder = options_of(source)
        callee = choose_function(source.symbol, functions_of(source))
        refuse_defaults(bound, callee)
        return compile_by_nvrtc(source, bound, callee, options, folder, self.files(source), wanted, target)

    def _compile(
        self, source: Source, bound: BoundSignature, wanted: DeviceCodeWanted, made_kernel: bool = False
    ) -> CompilerOutput:
        options, _ = options_of(source)
        toolchain = self._toolchain(source, bound, wanted)
        known = functions_of(source)
        callee = replace(choose_function(source.symbol, known), made_kernel=made_kernel)
        refuse_defaults(bound, callee)
        refuse_clusters(callee, options.cluster)
        use = kernel_use(source, bound, callee, toolchain) if callee.is_kernel else None
        if use is None and (options.grid or options.shared):
            raise DialectError(
                f"grid= and shared= are for __global__ functions, and `{callee.name}` is none",
                hint="pass block indices and memory as arguments",
            )
        unit, run = self._run_unrolled(source, bound, callee, wanted)
        attempt = Attempt(source, bound, callee, known, toolchain, wanted.arch, run)
        if is_kernel_after_all(callee, run):
            return self._compile(source, bound, wanted, made_kernel=True)
        if run.returncode != 0:
            raise explain(attempt, knobs.compile_timeout)
        check_written(attempt)
        if options.file and read_file(options.file) != source.text:
            raise FragmentSourceError(f"{options.file} changed while it was compiled", hint="run it again")
        files = read_files(run, toolchain)
        (text, told), shared = masked_text(run.text, attempt, users_files(toolchain.folders)), 0
        text = text if wanted.is_emulated else marked_as_nvccs(text, source)
        if use is not None and wanted.is_emulated:
            text = add_thread_entry(text, unit.entry, use)
        elif use is not None:
            text, shared = add_entry(text, unit.entry, use)
        if not wanted.is_emulated:
            text = relaxed_atomics(text, source.text)
            refuse_what_no_gpu_takes(text, unit.entry, shared, attempt)
        return CompilerOutput(
            text,
            unit.entry,
            files,
            run.seconds,
            self._identity(source, bound, wanted, toolchain),
            run.command,
            "\n".join(filter(None, (warnings_text(attempt), *told))),
            dynamic_shared=shared,
            device=device_code_of(attempt),
        )

    def _run_unrolled(
        self, source: Source, bound: BoundSignature, callee: Callee, wanted: DeviceCodeWanted
    ) -> tuple[Unit, Run]:
        """Where local arrays stay in memory, once more with longer loops unrolled; the better of both."""
        unit, compile_again = self._compiled(source, bound, callee, wanted)
        run, root = compile_again(False), SYMBOL if callee.is_kernel else unit.entry
        arrays = 0 if run.returncode != 0 or wanted.is_emulated else local_arrays(run.text, root)
        if not arrays or optimiser_of(source, callee, wanted, True) == optimiser_of(source, callee, wanted):
            return unit, run
        unrolled = compile_again(True)
        is_better = unrolled.returncode == 0 and local_arrays(unrolled.text, root) < arrays
        return unit, replace(unrolled if is_better else run, seconds=run.seconds + unrolled.seconds)

    def _compiled(
        self, source: Source, bound: BoundSignature, callee: Callee, wanted: DeviceCodeWanted
    ) -> tuple[Unit, Callable[[bool], Run]]:
        """How the unit is compiled, with or without what arrays need; kernels for GPUs take a second step."""
        if wanted.is_emulated or not callee.is_kernel:
            unit = self._unit(source, bound, callee, wanted)
            return unit, lambda has_arrays: self._run(source, bound, callee, wanted, has_arrays)[1]
        unit, made = self._run(source, bound, callee, wanted, more=UNOPTIMISED)
        text, toolchain = without_warps(made.text), find_toolchain()
        users = options_of(source)[0].flags

        def optimised(has_arrays: bool) -> Run:
            flags = (*optimiser_of(source, callee, wanted, has_arrays), *users)
            run = optimise(toolchain, made, text, wanted.arch, flags, knobs.compile_timeout)
            if run.returncode == 0 and is_divided_by_threads(run.text, SYMBOL):
                run = optimise(toolchain, made, text, wanted.arch, without_unswitching(flags), knobs.compile_timeout)
            run = replace(run, text=finish_loops(ask_once(unroll_warp_loops(run.text))))
            return replace(run, seconds=run.seconds - made.seconds) if has_arrays else run

        return unit, optimised if made.returncode == 0 else lambda has_arrays: made

    def _run(
        self,
        source: Source,
        bound: BoundSignature,
        callee: Callee,
        wanted: DeviceCodeWanted,
        has_arrays: bool = False,
        more: tuple[str, ...] = (),
    ) -> tuple[Unit, Run]:
        line_info = dict(source.settings).get("line_info") != "False" or wanted.is_emulated
        toolchain, timeout = self._toolchain(source, bound, wanted), knobs.compile_timeout
        more = (*optimiser_of(source, callee, wanted, has_arrays), *more)

        def compile_source(
            compiled: Source, flags: tuple[str, ...], behind: str = "", prologue: Sequence[str] = ()
        ) -> Run:
            options, folder = options_of(compiled)
            if takes_small_floats(bound, prologue):
                options = replace(options, lean=with_small_floats(options.lean))
            unit = self._unit(compiled, bound, callee, wanted, source.text, prologue)
            beginning = headers_in_front(compiled.text, options, toolchain)
            return compile_unit(
                toolchain, options, wanted.arch, folder, unit.text + behind, timeout,
                line_info=line_info, more=(*more, *flags), beginning=beginning, again=False,
            )  # fmt: skip

        unit = self._unit(source, bound, callee, wanted)
        is_alone = callee.is_kernel or callee.types
        group = None if is_alone else self._groups.of(source, bound, wanted, has_arrays)
        run = group and group.run(
            self._unit(source, bound, callee, wanted, prologue=group.prologue) if group.prologue else unit,
            lambda other, call: self._plain_unit(other, call, wanted, group.prologue),
            lambda behind: compile_device_code(
                source, functools.partial(compile_source, behind=behind, prologue=group.prologue)
            ),
        )
        return unit, run or compile_device_code(source, compile_source)

    def _toolchain(self, source: Source, bound: BoundSignature, wanted: DeviceCodeWanted) -> Toolchain:
        """Looked for once for calls that are compiled together: to look takes 10 ms."""
        group = self._groups.of(source, bound, wanted)
        return group.toolchain if group else find_toolchain()

    def _identity(self, source: Source, bound: BoundSignature, wanted: DeviceCodeWanted, toolchain: Toolchain) -> str:
        group = self._groups.of(source, bound, wanted)
        return group.identity if group else toolchain.identity()

    def _plain_unit(
        self, source: Source, bound: BoundSignature, wanted: DeviceCodeWanted, prologue: Sequence[str]
    ) -> Unit | None:
        """The unit of a device function that may be compiled with others of its source."""
        try:
            callee = choose_function(source.symbol, functions_of(source))
            alone = callee.is_kernel or callee.types
            return None if alone else self._unit(source, bound, callee, wanted, prologue=prologue)
        except TLEError:
            return None  # which its own compilation will tell

    def expect(self, calls: Sequence[tuple[Source, BoundSignature]], target: Target, with_names: bool = False) -> None:
        """Functions of one source that one kernel calls: they are compiled together when the first is asked for.

        ``with_names``: also those whose code is a template of the names that the calls bind.
        """
        wanted = find_device_code(target)
        if wanted is None:
            return
        if with_names:
            self._groups.expect(calls, wanted, asks_for_no_macro, passes=(False, True))
        else:
            self._groups.expect(calls, wanted, lambda source, bound: False)

    def unit(self, source: Source, bound: BoundSignature) -> str:
        """The C++ text that is compiled: the headers, the user's code and the entry function."""
        return self._unit(
            source, bound, choose_function(source.symbol, functions_of(source)), DeviceCodeWanted("")
        ).text

    def _unit(
        self, source: Source, bound: BoundSignature, callee: Callee, wanted: DeviceCodeWanted, named: str = "",
        prologue: Sequence[str] = (),
    ) -> Unit:  # fmt: skip
        options, _ = options_of(source)
        headers = header_digests(source)
        line = line_directive(source.location.line, source.location.file)
        digest = [json.dumps(source.settings), source.symbol, *headers]
        return write_unit(
            source.name, source.text, line, bound, callee, options, digest, wanted.is_emulated, wanted.defines, named,
            struct_slots(source, bound, callee), prologue,
        )  # fmt: skip

    def returned(self, source: Source, bound: BoundSignature) -> tuple[int, ...]:
        """The arguments of a call without types that the function gives back: see `returned.py`."""
        callee = choose_function(source.symbol, functions_of(source))
        return returned_arguments(source, bound, callee, header_digests(source))

    def as_launched_kernel(self, declaration: Declaration, source: Source, options: Mapping[str, Any]) -> GlobalKernel:
        """The source as a kernel of its own, with the options of ``as_kernel``."""
        return self.as_launched_kernel_of(self, declaration, source, options)

    def as_launched_kernel_of(
        self, adapter: Adapter, declaration: Declaration, source: Source, options: Mapping[str, Any]
    ) -> GlobalKernel:
        """The kernel of a dialect that is CUDA C++ under other rules: ``adapter`` reads the declaration."""
        callee = choose_function(source.symbol, functions_of(source))
        opaque = opaque_parameters(prototype_of_source(source, callee), callee) if callee.is_kernel else ()
        return make_whole_kernel(adapter, declaration, source, options, callee.is_kernel, opaque, any_size=True)

    def prototype(self, source: Source | None, signature: Signature) -> str:
        """The function that the author is expected to write, in two forms."""
        name = split_symbol(source.symbol)[0].rpartition("::")[2] if source else signature.name
        return prototype_text(name, signature)
