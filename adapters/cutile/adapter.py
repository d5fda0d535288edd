"""The dialect "cutile": what the core asks of it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FunctionType
from typing import Any

from tle_raw.adapters.cutile import objects
from tle_raw.adapters.cutile.argument_types import ArgumentType
from tle_raw.adapters.cutile.hints import note_dropped_hints, note_kernel_hints
from tle_raw.adapters.cutile.installed import installed_version, load_cutile
from tle_raw.adapters.cutile.options import Options, read_options
from tle_raw.adapters.cutile.parameters import FunctionParameter, match_arguments, read_parameters
from tle_raw.adapters.cutile.reachable_source import reachable_source
from tle_raw.adapters.cutile.typed_ir import type_function
from tle_raw.adapters.cutile.whole_kernel import WholeKernel, make_whole_kernel
from tle_raw.errors import DialectError, FragmentSourceError
from tle_raw.fragments.adapter import CompilerOutput, Declaration, Source
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.signature import Signature
from tle_raw.target import Target
from tle_raw.triton_types import Semantic


@dataclass(frozen=True)
class Reading:
    """A declaration, understood."""

    declaration: Declaration
    function: FunctionType
    is_kernel: bool
    parameters: tuple[FunctionParameter, ...]
    options: Options


@dataclass(frozen=True)
class CallValues:
    """What one call passes: types by parameter, values of the flat parameters, and those that the grid names.

    ``multiples`` are what sizes are known to be multiples of, by the number of the flat parameter.
    """

    types: dict[str, ArgumentType]
    flat: tuple[Any, ...]
    multiples: Mapping[int, int]
    given: dict[str, Any]


class CutileAdapter:
    """cuTile functions and kernels. See :func:`tle_raw.dialect`; the options are those of ``options.Options``."""

    name = "cutile"

    def routes(self, source: Source, backend: str) -> tuple[str, ...]:
        """Traced, everywhere: cuTile's own compiler gives a finished binary, and nothing else."""
        return ("traced",)

    def takes(self, source: object, named: bool) -> bool:
        """cuTile's kernels and functions; a plain function may be written with cuTile, where the user says so."""
        return objects.is_cutile_object(source) or (named and inspect.isfunction(source))

    def complete(self, declaration: Declaration) -> Declaration:
        """With the function's name and line; its types are those of each call."""
        function = objects.python_function(declaration.wrapped)
        return replace(declaration, name=function.__name__, location=objects.object_location(function))

    def read(self, declaration: Declaration) -> Source:
        """Read a declaration.

        Raises
        ------
        FragmentSourceError : it is no Python function.
        """
        if declaration.wrapped is None:
            raise FragmentSourceError(
                "a cuTile fragment is a Python function, not a file",
                hint='decorate the function: @tle_raw.dialect("cutile")',
            )
        if declaration.signature is not None:
            raise DialectError("the arguments of a call type a cuTile function", hint="leave signature= out")
        options = read_options(declaration.options)
        load_cutile()
        function = objects.python_function(declaration.wrapped)
        is_kernel = objects.is_kernel(declaration.wrapped)
        reading = Reading(declaration, function, is_kernel, read_parameters(function, options), options)
        text = reachable_source(function)
        settings = (*options.settings, ("kernel", str(is_kernel)))
        return Source(
            self.name, declaration.name, function.__name__, text, declaration.location, settings, data=reading
        )

    def files(self, source: Source) -> tuple[Path, ...]:
        """The function is an object of this process: its text is in the key, and no file is read."""
        return ()

    def compiler_identity(self) -> str:
        """cuTile's version: it types the function."""
        return f"cuTile {installed_version()}"

    def bind(
        self, source: Source, arguments: Sequence[Any], keywords: Mapping[str, Any]
    ) -> tuple[BoundSignature, dict[str, Any]]:
        """Bind one call by its arguments' types; the values are those that ``trace`` takes."""
        # Triton's values: adapters load without it.
        from tle_raw.adapters.cutile.arguments import CallArguments, described_parameter, plain

        reading: Reading = source.data
        names = (*reading.options.given_names, *reading.options.descriptors)
        given = match_arguments(reading.function, names, arguments, keywords)
        found = CallArguments(reading.options.alias, reading.options.multiples)
        for parameter in reading.parameters:
            found.add(parameter, given[parameter.name], reading.is_kernel)
        by_name = {name: plain(given[name]) for name in names}
        values = CallValues(found.types, tuple(found.values), found.multiples, by_name)
        described = [described_parameter(name, by_name[name]) for name in reading.options.descriptors]
        return BoundSignature(source.name, (*found.bound, *described)), {"call": values}

    def trace(self, source: Source, bound: BoundSignature, values: Mapping[str, Any], semantic: Semantic) -> list[Any]:
        """Write the region's operations where the kernel's builder stands; its results, in the signature's order."""
        from tle_raw.adapters.cutile.traced import trace_region  # brings Triton, which adapters load without

        reading: Reading = source.data
        call: CallValues = values["call"]
        typed = type_function(reading.function, call.types)
        note_dropped_hints(typed.block, reading.options.planned is not None)
        note_kernel_hints(reading.declaration.wrapped)
        return trace_region(typed, call.flat, call.multiples, call.given, reading.options, source.location, semantic)

    def compile(self, source: Source, bound: BoundSignature, target: Target) -> CompilerOutput:
        """Nothing can be compiled by itself here: raises DialectError."""
        raise DialectError(
            f"the region `{source.name}` is traced into its kernel: there is nothing to compile alone",
            hint="compile the kernel that calls it",
        )

    def as_kernel(self, fragment: Any, source: Source) -> WholeKernel:
        """The cuTile kernel as a kernel of its own."""
        return make_whole_kernel(self, source.data.declaration, source)

    def prototype(self, source: Source | None, signature: Signature) -> str:
        """The function itself."""
        return source.text if source is not None else str(signature)
