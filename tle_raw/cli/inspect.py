"""``tle-raw inspect``: what a fragment compiles to, what became of the regions of a cached kernel, what FLIR is."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tle_raw.cli.amounts import bytes_text
from tle_raw.cli.kernels import is_kernel_folder, kernels_of
from tle_raw.cli.load import HOW, fragments_of
from tle_raw.columns import columns
from tle_raw.flir import passes
from tle_raw.flir.pass_value import Pass
from tle_raw.knobs import knobs
from tle_raw.targets.device_code import find_device_code

if TYPE_CHECKING:
    from tle_raw.fragments.compiled import CompiledFragment


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("inspect", help="compile a fragment, or take a cached kernel, and print what it is")
    parser.add_argument(
        "where",
        nargs="?",
        metavar="FILE.py[:fragment] | FOLDER | HASH",
        help=f"{HOW}; or a kernel's folder in Triton's cache, or its hash",
    )
    parser.add_argument("--target", help="cuda:80, cuda:90, …; default: the knob `target`, else cuda:90")
    parser.add_argument(
        "-D",
        dest="bindings",
        action="append",
        default=[],
        type=binding,
        metavar="NAME=VALUE",
        help="a value for a name of the signature: -D M=64 -D T=f16",
    )
    parser.add_argument("--llvm", action="store_true", help="print the LLVM IR, too")
    parser.add_argument(
        "--passes",
        action="store_true",
        help="list all passes, in order: those that TLE_RAW_PRINT_AFTER and TLE_RAW_DISABLE_PASSES take are marked",
    )
    parser.add_argument("--dialect", action="store_true", help="print the documentation of the TLE dialect")
    parser.set_defaults(run=run, parser=parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.passes or arguments.dialect:
        print("\n".join([*(_passes() if arguments.passes else ()), *(_dialect() if arguments.dialect else ())]))
        return 0
    if arguments.where is None:
        arguments.parser.error("a file, a folder or a hash is needed, or --passes or --dialect")
    return _kernels(arguments.where) if is_kernel_folder(arguments.where) else _fragments(arguments)


def _passes() -> Iterator[str]:
    """A table for each pipeline."""
    yield "p: TLE_RAW_PRINT_AFTER shows what it made; d: it exists for speed, and TLE_RAW_DISABLE_PASSES takes it."
    for title, pipeline in passes.pipelines().items():
        yield f"{title}:"
        yield from columns([_row(each) for each in pipeline])


def _row(each: Pass) -> tuple[str, ...]:
    marks = ("p" if each.can_be_shown else "-") + ("d" if each.for_speed else "-")
    does = each.does + (f"; also called {', '.join(each.also)}" if each.also else "")
    return each.name, each.stage, marks, f"tle_raw/{each.file}", does


def _dialect() -> Iterator[str]:
    from tle_raw.flir.dialect.document import document

    yield document()


def _kernels(where: str) -> int:
    from tle_raw.reports.report import report

    for kernel in kernels_of(where):
        print(report(kernel))
    return 0


def _fragments(arguments: argparse.Namespace) -> int:
    target = arguments.target or knobs.target or "cuda:90"
    for fragment in fragments_of(arguments.where).values():
        compiled = fragment.compile(target, **dict(arguments.bindings))
        print("\n".join(_lines(compiled)))
        if arguments.llvm:
            print(compiled.text)
    return 0


def binding(text: str) -> tuple[str, int | str]:
    """``M=64`` is a number, ``T=f16`` a word."""
    name, equals, value = text.partition("=")
    if not (name.isidentifier() and equals and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, int(value) if value.lstrip("-").isdigit() else value


def _lines(compiled: CompiledFragment) -> list[str]:
    shared = sum(size for _, size, _ in compiled.static_shared)
    names = ", ".join(name for name, _, _ in compiled.static_shared)
    bound = ", ".join(str(p) for p in compiled.bound.parameters)
    rows = [
        ("signature", f"({bound})" + (f" -> {compiled.bound.result}" if compiled.bound.result else "")),
        ("entry", compiled.entry),
        ("LLVM IR", f"{compiled.instructions} instructions, {bytes_text(len(compiled.text))}"),
        ("calls left", ", ".join(compiled.kept_calls) or "none"),
        ("static shared", f"{shared} bytes{f' ({names})' if names else ''}"),
        ("block barrier", "yes" if compiled.uses_barrier else "no"),
        ("inlined", _inlined(compiled)),
        ("compiler", compiled.compiler),
        ("time", "from the cache" if compiled.cache_hit else f"{compiled.seconds:.2f} s"),
        ("file", compiled.path),
        *(("reads", file) for file in compiled.files),
    ]
    if compiled.warnings:
        rows.append(("warnings", compiled.warnings.strip()))
    return [f"{compiled.name} for {compiled.target}", *columns(rows)]


def _inlined(compiled: CompiledFragment) -> str:
    wanted = find_device_code(compiled.target)
    if wanted is not None and wanted.is_emulated and not compiled.bound.is_elementwise:
        return "no, a team of threads runs it"
    return "yes" if compiled.inline else "no, by its declaration"
