"""A fragment called in a kernel: directly, or through FlagTree's ``call`` and ``call_smem``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from triton.language import core

from tle_raw.errors import (
    ArgumentCountError,
    ArgumentTypeError,
    CallError,
    RegionError,
    Row,
    ShapeError,
    SourceLocation,
    TLEError,
)
from tle_raw.flir.hints.handlers.pipeline import PIPELINE
from tle_raw.flir.hints.kernel import asks_for
from tle_raw.fragments.bind_untyped import bind_untyped
from tle_raw.fragments.binding import bind, match_arguments
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.dtypes import parse_dtype
from tle_raw.fragments.fragment import Fragment
from tle_raw.fragments.parameter_types import ROW_MAJOR, Tile
from tle_raw.fragments.signature import Signature
from tle_raw.frontends.call_site import call_site
from tle_raw.frontends.raw.buffers import (
    check_no_barriers,
    describe_argument,
    in_place,
    is_shared,
    layouts_of,
    load_buffers,
    store_buffers,
    with_contents,
)
from tle_raw.frontends.raw.descriptors import check_blocks
from tle_raw.frontends.raw.interpreted_waits import letting_others_run
from tle_raw.frontends.raw.pointers_and_structs import fit_pointers, open_structs
from tle_raw.frontends.raw.structure import StructureHere
from tle_raw.regions.effects import emit_effects
from tle_raw.regions.emit import emit_element, emit_region
from tle_raw.regions.interpret import (
    in_interpreter,
    interpret_region,
    interpreted_call_site,
    record_region,
)
from tle_raw.regions.partitions import current_partition
from tle_raw.regions.ports import RegionRecord
from tle_raw.regions.stages import check_stages, compiled_target
from tle_raw.regions.structure import offering
from tle_raw.regions.trace import interpret_traced, trace_region


def call_fragment(
    fragment: Fragment, args: Sequence[Any], keywords: dict[str, Any], semantic: Any, generator: Any, hint: str = ""
) -> Any:
    """``fragment(*args, shape=…, M=…)`` inside a kernel: bind, emit, give back the results.

    ``semantic`` is None in Triton's interpreter: there the region runs at once. ``hint`` is that of ``call``.

    Raises
    ------
    RegionError : no kernel is running or traced.
    """
    if semantic is None and not in_interpreter():
        raise RegionError(
            f"the fragment `{fragment.name}` is device code: it runs only inside a @triton.jit kernel",
            hint="use fragment.compile(target=...) to compile it alone",
        ).at(fragment=fragment.name, source=fragment.location)

    def bind_call() -> tuple[BoundSignature, dict[str, Any]]:
        if fragment.is_call_typed:
            check_no_barriers(fragment.dialect, [*args, *keywords.values()])
            return fragment.bind_call(with_contents(args, semantic), keywords)
        if fragment.signature is None:
            raise CallError(
                f"`{fragment.name}` has no typed signature, so its outputs are not known",
                hint="call it as tle_raw.call(fragment, [arguments], output_indices=[...]), or annotate the stub",
            )
        return bind_typed(fragment.signature, args, keywords, semantic)

    results = _region(fragment, bind_call, semantic, generator, hint)
    return _packed(results)


def call_bound(fragment: Fragment, bound: BoundSignature, given: dict[str, Any], semantic: Any, generator: Any) -> Any:
    """``call_fragment`` of what ``bind_typed`` gave for the fragment's signature."""
    return _packed(_region(fragment, lambda: (bound, given), semantic, generator, ""))


def bind_typed(
    signature: Signature, args: Sequence[Any], keywords: dict[str, Any], semantic: Any
) -> tuple[BoundSignature, dict[str, Any]]:
    """A typed signature bound to the arguments of a call, and the value of each parameter that is passed.

    Raises
    ------
    CallError : the arguments do not fit.
    """
    given_names = {k: keywords.pop(k) for k in list(keywords) if _names_value(signature, k)}
    shapes = _shapes(signature, keywords.pop("shape", None))
    opened, named = open_structs(signature, args, keywords)
    given = fit_pointers(signature, match_arguments(signature, opened, named), semantic)
    layouts = layouts_of(signature)
    described = {name: describe_argument(value, name, layouts.get(name, "")) for name, value in given.items()}
    bound = bind(signature, described, shapes, _name_values(signature, given_names))
    check_blocks(signature, given)
    return bound, given


def _region(
    fragment: Fragment, bind_call: Callable[..., Any], semantic: Any, generator: Any, hint: str
) -> list[core.tensor]:
    site = call_site(generator, semantic) if semantic is not None else interpreted_call_site()
    try:
        if semantic is None:
            bound, given = bind_call()
            return _interpreted(fragment, bound, given, site)
        compiled = check_stages(semantic.builder.options)
        _check_language(semantic)
        if not hint and site is not None and asks_for(PIPELINE, site.file, site.line):
            hint = PIPELINE
        bound, given = bind_call()
        return _emitted(fragment, bound, given, compiled, site, semantic, hint)
    except TLEError as e:
        e.at(fragment=fragment.name, source=fragment.location, call_site=site)
        raise


def _interpreted(
    fragment: Fragment, bound: BoundSignature, given: dict[str, Any], site: SourceLocation | None
) -> list[core.tensor]:
    """The results of a region that runs at once, in Triton's interpreter."""
    if "traced" not in fragment.routes("cpu"):
        with letting_others_run(bound, given):
            results = interpret_region(fragment, bound, load_buffers(bound, given, None), site)
            return store_buffers(bound, given, results, None)
    record_region(bound, site)
    if bound.has_barriers:
        return interpret_traced(fragment, bound, in_place(given, None))
    return store_buffers(bound, given, interpret_traced(fragment, bound, load_buffers(bound, given, None)), None)


def _emitted(
    fragment: Fragment,
    bound: BoundSignature,
    given: dict[str, Any],
    compiled: bool,
    site: SourceLocation | None,
    semantic: Any,
    hint: str,
) -> list[core.tensor]:
    """The results of a region that is written into the kernel."""
    if bound.has_barriers:
        traced = trace_region(fragment, bound, in_place(given, semantic), semantic, site)
        if traced is not None:
            return traced
        values = load_buffers(bound, given, semantic)
    elif any(p.is_descriptor for p in bound.parameters) and "linked" not in fragment.routes(compiled_target()):
        # Code of this package alone takes descriptors as they are, and what it builds with them.
        with offering(StructureHere(semantic)):
            return trace_region(fragment, bound, given, semantic, site) or []
    else:
        values = load_buffers(bound, given, semantic)
        traced = trace_region(fragment, bound, values, semantic, site)
        if traced is not None:
            return store_buffers(bound, given, traced, semantic)
    record = RegionRecord(fragment.identity, bound, hint=hint, warps=_own_warps(bound))
    if not compiled:
        record = emit_effects(fragment, record, values, semantic)
    if bound.is_elementwise:
        return [emit_element(record, values, semantic)]
    return store_buffers(bound, given, emit_region(record, values, semantic), semantic)


def _own_warps(bound: BoundSignature) -> int:
    """How many warps run the region, where they are not all of the partition that calls it; else 0.

    Raises
    ------
    RegionError : it gives all threads a scalar, of which some do not run it.
    """
    partition = current_partition()
    if partition is None or bound.is_elementwise:
        return 0
    own = partition.own_warps
    if own and bound.result is not None:
        raise RegionError(
            f"a fragment that returns a scalar is called in {partition.name}, of whose warps {own} run it and "
            "all need the scalar",
            hint="let it write the scalar into a tile or a buffer, or give the worker a power of two of warps",
        )
    return own


def _check_language(semantic: Any) -> None:
    if type(semantic).__name__ == "GluonSemantic":
        raise RegionError(
            "a fragment is called in a Gluon kernel, whose tensors carry layouts of their own",
            hint="call it in a @triton.jit kernel",
        )


def _packed(results: list[core.tensor]) -> Any:
    if len(results) <= 1:
        return results[0] if results else None
    return core.tuple(results)


def _names_value(signature: Signature, keyword: str) -> bool:
    """``M=64`` gives the value of a name of the signature, unless a parameter has that name."""
    return keyword in signature.names and all(p.name != keyword for p in signature.parameters)


def _name_values(signature: Signature, given: dict[str, Any]) -> dict[str, Any]:
    plain = {name: core._unwrap_if_constexpr(value) for name, value in given.items()}
    return {name: parse_dtype(v) if isinstance(v, (str, core.dtype)) else v for name, v in plain.items()}


def _shapes(signature: Signature, given: Any) -> dict[str, tuple[int, ...]]:
    """``shape=``: the shape of the only Out tile, or one shape for each Out tile in signature order."""
    items = _items(given)
    if items is None:
        return {}
    outputs = [p.name for p in signature.parameters if not p.is_passed and isinstance(p.type, Tile)]
    nested = [isinstance(_plain(i), (core.tuple, tuple, list)) for i in items]
    shapes = items if items and all(nested) else [items]
    if len(shapes) != len(outputs):
        raise ArgumentCountError(
            "shape= gives one shape for each Out tile",
            table=[Row("shapes", f"{len(outputs)} ({', '.join(outputs) or 'no Out tile'})", str(len(shapes)))],
        )
    return {name: _shape(shape) for name, shape in zip(outputs, shapes)}


def _shape(value: Any) -> tuple[int, ...]:
    values = [_plain(v) for v in _items(value) or []]
    if not all(isinstance(v, int) for v in values):
        raise ShapeError(f"a shape is known at compile time, got {values}")
    return tuple(values)


@core.builtin
def call(
    func: Any = None,
    args: Any = None,
    output_indices: Any = None,
    hint: Any = "",
    outputs: Any = None,
    inputs: Any = None,
    _semantic: Any = None,
    _generator: Any = None,
) -> Any:
    """FlagTree's call of a fragment.

    Two forms: ``call(func, args, output_indices=[0, 2])`` passes all arguments and returns those that the indices
    name; the older ``call(func, outputs, inputs)`` passes outputs first, then inputs, and returns the outputs.

    Parameters
    ----------
    func : a fragment. ``args``: a list of its arguments, ``Out`` parameters included for untyped stubs only.
    output_indices : which arguments come back; a pointer or a buffer comes back as it is. For a typed signature the
        default is what the signature returns; for an untyped stub over CUDA what the function itself returns: a
        pointer or the descriptor of a tile that it was given, or a struct of such descriptors.
    hint : ``"pipeline"`` says that the region makes tiles for its loop: where the loop has automatic stages, it runs an
        iteration ahead of what uses them, on NVIDIA GPUs. Where it cannot, a ``PipelineHintWarning`` says why. Other
        texts are accepted, and mean nothing.

    Returns
    -------
    None, one value, or a tuple, in the order of ``output_indices``.
    """
    return _flagtree_call(func, args, output_indices, hint, outputs, inputs, _semantic, _generator)


def _also_interpreted(builtin: Any) -> Any:
    """Triton's interpreter calls a function of a library as it stands, without its semantic object."""
    taken = inspect.signature(builtin.__wrapped__)

    @functools.wraps(builtin)
    def wrapper(*args: Any, **keywords: Any) -> Any:
        try:
            taken.bind(*args, **keywords)
        except TypeError as error:
            known = ", ".join(name for name in taken.parameters if not name.startswith("_"))
            raise ArgumentCountError(f"tle_raw.call: {error}", hint=f"it takes {known}") from None
        if keywords.get("_semantic") is not None:
            return builtin(*args, **keywords)
        if in_interpreter():
            return builtin.__wrapped__(*args, **keywords)
        raise RegionError("tle_raw.call calls device code: it works only inside a @triton.jit kernel")

    return wrapper


call = _also_interpreted(call)
# FlagTree's name for arguments that live in shared memory: tiles are put there for every call, and buffers stay.
call_smem = call


def _flagtree_call(
    func: Any, args: Any, output_indices: Any, hint: Any, outputs: Any, inputs: Any, semantic: Any, generator: Any
) -> Any:
    func, hint = core._unwrap_if_constexpr(func), str(core._unwrap_if_constexpr(hint) or "")
    site = call_site(generator, semantic)
    if not isinstance(func, Fragment):
        raise ArgumentTypeError(
            "tle_raw.call takes a fragment first", table=[Row("func", "a fragment", type(func).__name__)]
        ).at(call_site=site)
    try:
        values, indices = _arguments_and_outputs(args, output_indices, outputs, inputs)
        if func.signature is not None:
            return _call_typed(func, values, indices, semantic, generator, hint)
        if indices is None:
            indices = list(func.returned_arguments(_bind_untyped(func, values, ())[0]))
        results = _region(func, lambda: _bind_untyped(func, values, indices), semantic, generator, hint)
        memory = {i: value for i, value in enumerate(map(core._unwrap_if_constexpr, values)) if _is_memory(value)}
        ordered = memory | dict(zip(sorted(set(indices) - memory.keys()), results))
        return _packed([ordered[i] for i in indices])
    except TLEError as e:
        e.at(fragment=func.name, source=func.location, call_site=site)
        raise


def _arguments_and_outputs(
    args: Any, output_indices: Any, outputs: Any, inputs: Any
) -> tuple[list[Any], list[int] | None]:
    """Both forms, told apart by the second positional argument: a list of values is ``inputs``, of ints indices."""
    indices = _items(output_indices)
    if outputs is not None or inputs is not None:
        outs, ins = _items(outputs if outputs is not None else args) or [], _items(inputs) or []
        return [*outs, *ins], list(range(len(outs)))
    values = _items(args)
    if values is None:
        raise ArgumentCountError("tle_raw.call needs the fragment's arguments", hint="call(func, [x, y, n], ...)")
    if indices is None:
        return values, None
    plain = [core._unwrap_if_constexpr(i) for i in indices]
    if all(isinstance(i, int) for i in plain) and not (plain == [] and not values):
        return values, [int(i) for i in plain]
    return [*values, *indices], list(range(len(values)))


def _plain(value: Any) -> Any:
    """Without ``constexpr``. A tuple stays as it is: Triton could not unwrap one that holds a text or None."""
    return value if isinstance(value, core.tuple) else core._unwrap_if_constexpr(value)


def _items(value: Any) -> list[Any] | None:
    value = _plain(value)
    if value is None:
        return None
    if isinstance(value, core.tuple):
        return list(value.values)
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _is_memory(value: Any) -> bool:
    """What a region works on where it is: if it comes back, it is the argument itself."""
    return is_shared(value) or (isinstance(value, core.tensor) and value.dtype.is_ptr())


def _bind_untyped(
    fragment: Fragment, values: list[Any], indices: Sequence[int]
) -> tuple[BoundSignature, dict[str, Any]]:
    bound = bind_untyped(
        fragment.name, [describe_argument(v, f"argument {i}", ROW_MAJOR) for i, v in enumerate(values)], indices
    )
    return bound, {f"arg{i}": v for i, v in enumerate(values)}


def _call_typed(
    fragment: Fragment, values: list[Any], indices: list[int] | None, semantic: Any, generator: Any, hint: str
) -> Any:
    assert fragment.signature is not None
    passed = fragment.signature.passed
    result = call_fragment(fragment, values, {}, semantic, generator, hint)
    if indices is None:
        return result
    memory = {p.name: v for p, v in zip(passed, map(core._unwrap_if_constexpr, values)) if _is_memory(v)}
    returned = {p.name: i for i, p in enumerate(p for p in fragment.signature.returned if p.name not in memory)}
    results = list(result.values) if isinstance(result, core.tuple) else [result]
    chosen = []
    for index in indices:
        name = passed[index].name if 0 <= index < len(passed) else None
        if name in memory:
            chosen.append(memory[name])
            continue
        if name is None or name not in returned:
            raise ArgumentCountError(
                f"output index {index} names no parameter that `{fragment.name}` returns",
                table=[Row("returned", ", ".join(returned) or "nothing", name or f"index {index}")],
                hint="make the parameter InOut in the signature",
            )
        chosen.append(results[returned[name]])
    return _packed(chosen)
