"""What of a Python file's kernels is compiled ahead of time: its function ``variants`` says."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend
from triton.compiler.errors import CompilationError
from triton.language import str_to_ty
from triton.runtime.jit import JITFunction

from tle_raw.errors import CompilationFailed, DialectError, Row, SourceLocation, TLEError
from tle_raw.near_names import did_you_mean
from tle_raw.target import Target

EXAMPLE = 'def variants(): yield scale, {"x": "*fp32:16", "n": "i32"}, {"BLOCK": 1024}, {"num_warps": 4}'
_WARP = 32


@dataclass(frozen=True)
class Variant:
    """One kernel for one set of types, constants and options. ``:16`` behind a type: a multiple of 16."""

    kernel: JITFunction[Any]
    types: Mapping[str, str]
    constants: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The kernel's."""
        return str(self.kernel.__name__)

    def compile(self, target: Target) -> Any:
        """Triton's compiled kernel, as a launch with such arguments would compile it.

        Raises
        ------
        DialectError : Triton has no such option. CompilationFailed : Triton does not compile the kernel.
        TLEError : a region of it cannot be compiled; the message says why.
        """
        import triton

        order = [name for name in self.kernel.arg_names if name in self.types or name in self.constants]
        types = {n: "constexpr" if n in self.constants else self.types[n].partition(":")[0] for n in order}
        multiples = [i for i, n in enumerate(order) if self.types.get(n, "").endswith(":16")]
        gpu = GPUTarget(target.backend, target.capability, _WARP)
        known = vars(make_backend(gpu).parse_options({}))
        unknown = [name for name in self.options if name not in known]
        if unknown:
            raise DialectError(
                f"Triton has no option `{unknown[0]}` for {target}, which variants() gives to `{self.name}`",
                hint=did_you_mean(unknown[0], known, f"there are {', '.join(sorted(known))}", quote="`"),
            )
        source = ASTSource(
            self.kernel, types, dict(self.constants), {(i,): [["tt.divisibility", 16]] for i in multiples}
        )
        try:
            return triton.compile(source, target=gpu, options=dict(self.options))
        except CompilationError as error:
            if isinstance(error.__cause__, TLEError):
                raise error.__cause__ from None
            raise CompilationFailed(f"Triton does not compile `{self.name}` for {target}", log=str(error)) from None


def variants_of(module: ModuleType) -> Iterator[Variant]:
    """What the module's ``variants()`` gives.

    Raises
    ------
    DialectError : there is no such function, it fails, or what it gives does not fit the kernel.
    """
    function = getattr(module, "variants", None)
    if not callable(function):
        raise DialectError(
            f"{module.__name__} has no function `variants`, which says what to compile", hint=f"write {EXAMPLE}"
        )
    code = getattr(function, "__code__", None)
    place = SourceLocation(code.co_filename, code.co_firstlineno) if code else None
    try:
        given = list(function())
    except TLEError:
        raise
    except Exception as error:  # the user's code
        frames = traceback.extract_tb(error.__traceback__)[1:]
        if frames:
            place = SourceLocation(frames[-1].filename, frames[-1].lineno or 0, 0, frames[-1].line or "")
        raise DialectError(
            f"variants() gives no list of what to compile: {type(error).__name__}: {error}", hint=f"write {EXAMPLE}"
        ).at(source=place) from error
    if not given:
        raise DialectError("variants() gives nothing to compile", hint=f"write {EXAMPLE}").at(source=place)
    for number, each in enumerate(given, 1):
        try:
            yield checked_variant(each, number)
        except DialectError as error:
            raise error.at(source=place) from None


def checked_variant(given: object, number: int) -> Variant:
    """A tuple of ``variants()`` as a value.

    Raises
    ------
    DialectError : it is none, or says too little, too much, or something wrong of a parameter.
    """
    parts = given if isinstance(given, (tuple, list)) else (given,)
    if not 2 <= len(parts) <= 4 or not isinstance(parts[0], JITFunction) or not all(map(_is_named, parts[1:])):
        raise DialectError(
            "variants() gives a kernel, the types of its arguments, its constants and options",
            table=[
                Row(f"variant {number}", "(@triton.jit kernel, dict, dict, dict)", f"({', '.join(map(_word, parts))})")
            ],
            hint=f"write {EXAMPLE}",
        )
    variant = Variant(*parts)
    rows = [*_parameter_rows(variant), *_other_rows(variant)]
    if rows:
        raise DialectError(
            f"variants() says of `{variant.name}` what does not fit its parameters", table=rows, hint=f"write {EXAMPLE}"
        )
    return variant


def _parameter_rows(variant: Variant) -> Iterator[Row]:
    """What is wrong with what is said of each parameter."""
    for parameter in variant.kernel.params:
        name = parameter.name
        typed, constant = name in variant.types, name in variant.constants
        if typed and constant:
            yield Row(name, "a type or a constant", "both")
        elif parameter.is_constexpr and typed:
            yield Row(name, "a constant: it is tl.constexpr", repr(variant.types[name]))
        elif not typed and not constant and parameter.has_default and parameter.is_constexpr:
            yield Row(name, f"a constant, such as its default {parameter.default!r}", "nothing")
        elif not typed and not constant:
            yield Row(name, "a constant" if parameter.is_constexpr else "a type", "nothing")
        elif typed and not _is_type(variant.types[name]):
            yield Row(name, 'a type of Triton\'s, such as "*fp32:16" or "i32"', repr(variant.types[name]))


def _other_rows(variant: Variant) -> Iterator[Row]:
    known = ", ".join(variant.kernel.arg_names)
    yield from (
        Row(name, f"a parameter of the kernel: {known}", "none of them")
        for name in {**variant.types, **variant.constants}
        if name not in variant.kernel.arg_names
    )


def _is_type(text: object) -> bool:
    """Whether Triton knows it, with or without ``:16``."""
    if not isinstance(text, str):
        return False
    type_, colon, multiple = text.partition(":")
    if not type_ or (colon and multiple != "16"):
        return False
    try:
        str_to_ty(type_, None)
    except Exception:  # it looks the text up, splits it and evaluates parts of it
        return False
    return type_ != "constexpr"


def _is_named(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def _word(value: object) -> str:
    return type(value).__name__
