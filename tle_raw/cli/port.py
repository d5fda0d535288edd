"""``tle-raw port``: the programs of a file in another language, and a Triton file that calls them as regions."""

from __future__ import annotations

import argparse
import ast
import json
import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tle_raw.columns import columns
from tle_raw.errors import FragmentSourceError, SourceLocation
from tle_raw.porting import Obstacle, Ported, PortRequest, Skipped
from tle_raw.porting.modules import module_file

if TYPE_CHECKING:
    from tle_raw.porting.run import Outcome

LIMIT = 600.0
HINT_AT = "      "


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "port",
        help="turn a file of another language into a Triton file that calls its kernels",
        description="Says of every kernel in a file which route it takes into a Triton kernel and what stands in the "
        "way of a better one, line by line, and writes a Triton file that calls it and checks its numbers. "
        "The file is executed, with your rights, in a process of its own: also what stands under __main__, or main(); "
        "only what it would compile or launch is not. Give it files that you trust. "
        "Exit code 1 when a kernel has no route.",
    )
    parser.add_argument(
        "where",
        metavar="FILE.py[:name]",
        help="a file of TileLang or a module (package.module), and which object of it",
    )
    output = parser.add_mutually_exclusive_group()
    output.add_argument("-o", "--output", type=Path, metavar="OUT.py", help="default: FILE_triton.py beside the file")
    output.add_argument("--print", action="store_true", dest="prints", help="print the Triton file, write nothing")
    parser.add_argument("--force", action="store_true", help="overwrite the output")
    parser.add_argument(
        "--arguments",
        nargs="+",
        action="extend",
        default=[],
        type=argument,
        metavar="[function:]NAME=VALUE",
        help="for functions that build kernels: --arguments M=1024 matmul:dtype=float16 'config=Config(block=64)'",
    )
    parser.add_argument(
        "--argv", default="", metavar="WORDS", help="the script's own command line; default: small sizes, if it has any"
    )
    parser.add_argument("--target", default="cuda:90", type=gpu, help="the GPU to compile for; default: cuda:90")
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="SECONDS", help=f"default: {LIMIT:g}")
    parser.add_argument("--dialect", default="", help="the file's language; default: what it imports tells it")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from tle_raw.porting.run import port, porting_dialect

    where, name = _split(arguments.where)
    file, module = _file(where)
    output = arguments.output or (
        Path(f"{file.stem}_triton.py") if module else file.with_name(f"{file.stem}_triton.py")
    )
    dialect = porting_dialect(file, arguments.dialect)
    if not arguments.prints:
        _check_free(output, file, arguments.force)
    words = tuple(shlex.split(arguments.argv))
    request = PortRequest(
        file.resolve(), output.resolve(), name, dict(arguments.arguments), arguments.target, module, words
    )
    outcome = port(dialect, request, arguments.limit)
    if outcome.error is not None and not outcome.ported:
        raise outcome.error
    written = output if outcome.text and not arguments.prints else None
    if written is not None:
        _write(written, outcome.text)
    if arguments.json:
        print(json.dumps(_as_json(outcome, file, written, arguments.prints), indent=1))
    elif arguments.prints:
        print("\n".join(_lines(outcome, file, None)), file=sys.stderr)
        print(outcome.text, end="")
    else:
        print("\n".join(_lines(outcome, file, written)))
    if outcome.error is not None:
        print(f"tle-raw: {outcome.error}", file=sys.stderr)
    return 0 if outcome.error is None and all(p.route for p in outcome.ported) else 1


def argument(text: str) -> tuple[str, Any]:
    """``M=64`` is a number, ``dtype=float16`` a word; what Python reads as a value is that value."""
    name, equals, value = text.partition("=")
    if not (equals and value and all(part.isidentifier() for part in name.split(":", 1))):
        raise argparse.ArgumentTypeError(f"{text!r} is not [function:]NAME=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def gpu(text: str) -> str:
    kind, _, capability = text.partition(":")
    if kind != "cuda" or not capability.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not cuda:80, cuda:90, …")
    return text


def _split(where: str) -> tuple[Path, str]:
    file, colon, name = where.rpartition(":")
    return (Path(file), name) if colon and name.isidentifier() else (Path(where), "")


def _file(where: Path) -> tuple[Path, str]:
    """The file, and the module's name where that was given."""
    word = str(where)
    if where.exists() or where.suffix == ".py" or not all(part.isidentifier() for part in word.split(".")):
        return where, ""
    return module_file(word), word


def _check_free(output: Path, file: Path, force: bool) -> None:
    if output.resolve() == file.resolve():
        raise FragmentSourceError(f"{output} is the file itself", hint="-o another one")
    if output.exists() and not force:
        raise FragmentSourceError(f"{output} exists", hint="--force overwrites it, -o OUT.py names another, --print")
    if not output.resolve().parent.is_dir():
        raise FragmentSourceError(f"no such folder: {output.parent}")


def _write(output: Path, text: str) -> None:
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FragmentSourceError(f"{output} cannot be written: {error.strerror}") from error


def _lines(outcome: Outcome, file: Path, written: Path | None) -> Iterator[str]:
    count = len(outcome.ported)
    near = os.path.relpath(file)
    yield f"{file if near.startswith('..') else near}: {count} kernel{'s' * (count != 1)}"
    yield from (f"  {note}" for note in outcome.notes)
    for ported in outcome.ported:
        yield ""
        yield from _kernel(ported)
    if outcome.skipped:
        yield ""
        yield "left out:"
        for skipped in outcome.skipped:
            yield from _left_out(skipped)
    yield ""
    if written is not None:
        yield f"wrote {written}"
    elif not outcome.text:
        yield "no Triton file: no kernel has a route" if outcome.error is None else "no Triton file"


def _kernel(ported: Ported) -> Iterator[str]:
    alias = "" if ported.name == ported.program else f" ({ported.program})"
    yield f"{ported.name}{alias}  {_where(ported.place)}"
    ways = [
        (way.target, f"{way.route or 'no route'}{': ' * bool(way.facts)}{'; '.join(way.facts)}") for way in ported.ways
    ]
    if ported.facts or ways:
        yield from columns([*ported.facts, *ways])
    if ported.obstacles:
        yield f"  {'not traced' if ported.route else 'no route'}, because of"
        for obstacle in ported.obstacles:
            yield from _obstacle(obstacle)


def _obstacle(obstacle: Obstacle) -> Iterator[str]:
    where = f"{_where(obstacle.place)}: " if obstacle.place else ""
    yield f"    {where}{obstacle.message}"
    if obstacle.place and obstacle.place.text.strip():
        yield f"{HINT_AT}{obstacle.place.text.strip()}"
    if obstacle.hint:
        yield f"{HINT_AT}hint: {obstacle.hint}"


def _left_out(skipped: Skipped) -> Iterator[str]:
    where = f"  {_where(skipped.place)}" if skipped.place else ""
    yield f"  {skipped.what}{where}: {skipped.reason}"
    if skipped.hint:
        yield f"{HINT_AT}hint: {skipped.hint}"


def _where(place: SourceLocation | None) -> str:
    """The path as the user would write it from here."""
    if place is None:
        return ""
    near = os.path.relpath(place.file)
    return str(SourceLocation(place.file if near.startswith("..") else near, place.line))


def _as_json(outcome: Outcome, file: Path, written: Path | None, with_text: bool) -> dict[str, Any]:
    kernels = [{**asdict(p), "route": p.route, "facts": dict(p.facts)} for p in outcome.ported]
    answer: dict[str, Any] = {"file": str(file), "kernels": kernels, "left_out": [asdict(s) for s in outcome.skipped]}
    answer["notes"] = list(outcome.notes)
    answer["output"] = str(written) if written else None
    if with_text:
        answer["text"] = outcome.text
    answer["error"] = str(outcome.error) if outcome.error else None
    return answer
