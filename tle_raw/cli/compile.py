"""``tle-raw compile``: a file's kernels and their fragments, compiled for machines without a compiler."""

from __future__ import annotations

import argparse
import keyword
import re
from pathlib import Path

from tle_raw.cli.load import module_of
from tle_raw.errors import DialectError, Row
from tle_raw.target import TARGETS, Target, parse_target


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "compile",
        help="compile a file's kernels ahead of time, and a package of their fragments",
        description="The file's function `variants` gives what is compiled: a kernel, the types of its arguments, its "
        "constants and options. The folder holds each kernel's code, and a package with the compiled fragments: where "
        "that is installed, the file's kernels compile without the fragments' own compilers.",
    )
    parser.add_argument("where", metavar="FILE.py", help="FILE.py or package.module")
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="what is written")
    parser.add_argument("--target", action="append", metavar="TARGET", help=f"{TARGETS}; by default cuda:90")
    parser.add_argument("--name", help="the package's name, by default FILE_fragments")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from tle_raw.ahead.compile_file import compile_file  # Triton, which few commands need

    targets = list(dict.fromkeys(map(_target, arguments.target or ["cuda:90"])))
    name = arguments.name
    if name is not None and (not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) or keyword.iskeyword(name)):
        raise DialectError(
            f"--name is {name!r}, and no package can have that name",
            table=[Row("--name", "a Python identifier that does not begin with _", repr(name))],
        )
    module = module_of(arguments.where)
    name = name or re.sub(r"\W", "_", f"{module.__name__.rpartition('.')[2]}_fragments", flags=re.ASCII)
    done = compile_file(module, name, targets, Path(arguments.output), print)
    print(f"{len(done.kernels)} kernels, {done.fragments} fragments, in {done.folder}")
    print(f"next: pip wheel --no-deps {_as_path(done.folder)}")
    return 0


def _target(text: str) -> Target:
    target = parse_target(text)
    if target.backend not in ("cpu", "cuda"):
        raise DialectError(
            f"nothing is compiled ahead of time for {target}", table=[Row("--target", TARGETS, repr(text))]
        )
    return target


def _as_path(folder: Path) -> str:
    """pip takes a plain word for a package's name."""
    return str(folder) if "/" in str(folder) else f"./{folder}"
