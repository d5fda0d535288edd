"""The dialect "tilelang": what the core asks of it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tle_raw.adapters.tilelang import objects
from tle_raw.adapters.tilelang.installed import installed_version, load_tilelang
from tle_raw.adapters.tilelang.launch_descriptors import LaunchDescriptors
from tle_raw.adapters.tilelang.linked import Linkable, compile_linked, compiler_identity
from tle_raw.adapters.tilelang.linked.pass_configs import pass_configs_of
from tle_raw.adapters.tilelang.named_barriers import NamedBarrier, find_named_barriers
from tle_raw.adapters.tilelang.named_buffers import FILLED_BY_OTHERS, NamedBuffer, find_named_buffers
from tle_raw.adapters.tilelang.named_tiles import NamedTile, find_named_tiles
from tle_raw.adapters.tilelang.options import Options, block_indices, read_options
from tle_raw.adapters.tilelang.program import Program, read_program
from tle_raw.adapters.tilelang.read_signature import read_signature
from tle_raw.adapters.tilelang.whole_kernel import WholeKernel, make_whole_kernel
from tle_raw.errors import DialectError, FragmentSourceError, ToolchainError
from tle_raw.fragments.adapter import CompilerOutput, Declaration, Source
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.signature import Signature
from tle_raw.identity import digest
from tle_raw.porting import Answer, PortRequest
from tle_raw.target import Target
from tle_raw.tile_program import TileProgram
from tle_raw.triton_types import Semantic


@dataclass(frozen=True)
class Reading:
    """A declaration, understood. ``places`` says where each block index comes from, by its tag; ``plan`` what is done
    with a loop whose copies get a warp of their own, None where none does."""

    program: Program
    tiles: dict[str, NamedTile]
    barriers: dict[str, NamedBarrier]
    buffers: dict[str, NamedBuffer]
    places: dict[str, int | str]
    options: Options
    linkable: Linkable
    descriptors: LaunchDescriptors
    plan: Any = None


class TileLangAdapter:
    """TileLang kernels. See :func:`tle_raw.dialect`; the options are those of ``options.Options``."""

    name = "tilelang"

    def routes(self, source: Source, backend: str) -> tuple[str, ...]:
        """Traced where that reaches, else TileLang's own lowering, whose code for a GPU the CPU emulates."""
        options = source.data.options
        if options.route:
            return (options.route,)
        if options.buffers:
            return ("linked",)
        return ("traced", "linked")

    def takes(self, source: object, named: bool) -> bool:
        """PrimFuncs and what holds one; a plain function may build one, where the user says so."""
        return objects.is_tilelang_object(source) or (named and inspect.isfunction(source))

    def complete(self, declaration: Declaration) -> Declaration:
        """With the kernel's name and line; its signature is the PrimFunc's, which is read when it is built."""
        wrapped = declaration.wrapped
        return replace(
            declaration,
            name=objects.object_name(wrapped),
            location=objects.object_location(wrapped) or declaration.location,
        )

    def tile_program(self, source: object, arguments: Mapping[str, Any]) -> TileProgram:
        """A whole kernel, for targets that compile it by themselves. See :class:`tle_raw.tile_program.TileProgram`."""
        from tle_raw.adapters.tilelang.tile_programs import read_tile_program  # for few programs only

        made = read_tile_program(read_program(objects.build_prim_func(source, arguments)))
        return replace(made, location=objects.object_location(source))

    def read(self, declaration: Declaration) -> Source:
        """Read a declaration.

        Raises
        ------
        FragmentSourceError : it is no PrimFunc.
        """
        if declaration.wrapped is None:
            raise FragmentSourceError(
                "a TileLang fragment is a PrimFunc, not a file",
                hint='import the module that holds it and write tle_raw.dialect("tilelang")(its PrimFunc)',
            )
        if declaration.signature is not None:
            raise DialectError("a PrimFunc states its own signature", hint="leave signature= out")
        options = read_options(declaration.options)
        load_tilelang()
        program = read_program(objects.build_prim_func(declaration.wrapped, options.arguments))
        tiles = find_named_tiles(program, options.tiles)
        buffers = find_named_buffers(program, options.buffers)
        barriers = find_named_barriers(program, options.barriers, several=bool(buffers))
        places = block_indices(program, options)
        own = {FILLED_BY_OTHERS: True} if buffers else {}
        configs = {**own, **pass_configs_of(declaration.wrapped, program.prim_func), **options.pass_configs}
        promises = (bool(options.tma), options.exclusive, tuple(barriers), tuple(buffers.values()))
        linkable = Linkable(program.prim_func, places, configs, tiles, *promises)
        text = program.prim_func.script(show_meta=True)
        settings = (*options.settings, ("pass_configs", str(sorted(linkable.pass_configs.items()))))
        plan = _plan_of(program) if options.is_planned else None
        descriptors = LaunchDescriptors(program, linkable, digest(text, settings), declaration.location)
        return Source(
            self.name,
            declaration.name,
            program.name,
            text,
            declaration.location,
            settings,
            data=Reading(program, tiles, barriers, buffers, places, options, linkable, descriptors, plan),
            signature=read_signature(
                program, tiles, places, bool(options.tma), barriers, buffers, plan.loads if plan else ()
            ),
        )

    def files(self, source: Source) -> tuple[Path, ...]:
        """The PrimFunc is an object of this process: its text is in the key, and no file is read."""
        return ()

    def compiler_identity(self) -> str:
        """Of all that either route uses; a machine without clang still traces."""
        try:
            return compiler_identity()
        except ToolchainError:
            return f"TileLang {installed_version()}"

    def trace(self, source: Source, bound: BoundSignature, values: Mapping[str, Any], semantic: Semantic) -> list[Any]:
        """Write the region's operations where the kernel's builder stands; its results, in the signature's order.

        Raises
        ------
        UntraceableError : something stands in the way; the error names it and its line.
        """
        from tle_raw.adapters.tilelang.traced import trace_region  # brings Triton, which adapters load without

        reading = source.data
        return trace_region(
            reading.program,
            reading.tiles,
            reading.barriers,
            reading.places,
            reading.options.in_grid,
            bound,
            values,
            semantic,
            reading.plan,
            reading.options.unplanned,
        )

    def compile(self, source: Source, bound: BoundSignature, target: Target) -> CompilerOutput:
        """The linked route."""
        if source.data.options.route == "traced":
            raise DialectError(
                f"the region `{source.name}` is traced into its kernel: there is nothing to compile alone",
                hint="compile the kernel, or fragment.as_kernel()",
            )
        return compile_linked(source, bound, target, source.data.linkable)

    def descriptors(self, source: Source, arguments: Sequence[Any], target: Target) -> Any:
        """The TMA descriptors of one call's arrays, for ``target``.

        Raises
        ------
        DialectError : the fragment was declared without ``tma=True``.
        """
        reading = source.data
        if not reading.options.tma:
            raise DialectError(
                f"the fragment `{source.name}` takes no TMA descriptors", hint="declare it with tma=True"
            ).at(fragment=source.name, source=source.location)
        return reading.descriptors.make(arguments, target)

    def as_kernel(self, fragment: Any, source: Source) -> WholeKernel:
        """The PrimFunc as a kernel of its own.

        Raises
        ------
        DialectError : it takes barriers of a Triton kernel.
        """
        for option in ("barriers", "buffers"):
            if not getattr(source.data.options, option):
                continue
            raise DialectError(
                f"`{source.name}` takes {option} of a Triton kernel: it is a region of one",
                hint=f"leave {option}= out, and it has {option} of its own",
            ).at(fragment=source.name, source=source.location)
        return make_whole_kernel(self, source)

    def can_port(self, text: str) -> bool:
        """Whether a file's text is a TileLang script."""
        from tle_raw.adapters.tilelang.port.port_script import is_tilelang_script  # for `tle-raw port` only

        return is_tilelang_script(text)

    def port(self, request: PortRequest) -> Iterator[Answer]:
        """What ``tle-raw port`` finds out about a script, piece by piece."""
        from tle_raw.adapters.tilelang.port.port_script import port_script  # for `tle-raw port` only

        return port_script(request)

    def prototype(self, source: Source | None, signature: Signature) -> str:
        """The call that the fragment takes; the text of the PrimFunc stands in ``source``."""
        return f"{signature}\n" + (f"\n{source.text}" if source is not None else "")


def _plan_of(program: Program) -> Any:
    from tle_raw.adapters.tilelang.traced.warp_plan import find_plan  # brings Triton, which adapters load without

    return find_plan(program)
