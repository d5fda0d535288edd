"""``tle-raw tenstorrent``: TileLang kernels of a Python file become Metalium programs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tle_raw.cli.load import module_of
from tle_raw.errors import DialectError

_WHERE = "FILE.py, FILE.py:kernel, package.module or package.module:kernel"


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "tenstorrent",
        help="compile TileLang kernels into programs for Tenstorrent cards",
        description="Writes reader.cpp, compute.cpp, writer.cpp, main.cpp and tt.plan.json of each PrimFunc that a "
        "file holds, into OUT/NAME; of one that is named, into OUT.",
    )
    parser.add_argument("where", metavar="FILE.py[:kernel]", help=_WHERE)
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="the folder for the files")
    parser.add_argument("--core-grid", metavar="X,Y", default="8,8", help="cores that may be used, by default 8,8")
    parser.add_argument("--api", default="0.81.1", help="release of the kernel API: 0.81.1 or 0.70.1")
    parser.add_argument("--partition", default="global", help="global or local_shard")
    parser.add_argument(
        "--layout", action="append", default=[], metavar="TENSOR:KEY=VALUE,…",
        help="memory=L1, layout=sharded, format=bfp8_b, shard=4x2 (tiles); may be given several times",
    )  # fmt: skip
    parser.add_argument("--dump", action="store_true", help="write the program behind each pass, into OUT/passes")
    parser.add_argument(
        "--build", action="store_true", help="build main: with the SDK of TT_METAL_HOME, else for the simulator"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from tle_raw.whole_programs import compile  # which loads adapters

    where, _, wanted = arguments.where.rpartition(":") if ":" in arguments.where else (arguments.where, "", "")
    kernels = _kernels(where, wanted)
    options = {
        "core_grid": _pair(arguments.core_grid, "--core-grid", ","),
        "api": arguments.api,
        "partition": arguments.partition,
        "layouts": dict(_layout(text) for text in arguments.layout),
    }
    for name, kernel in kernels.items():
        program = compile(kernel, "tenstorrent", **options)
        folder = Path(arguments.output) / ("" if wanted else name)
        program.write(folder)
        if arguments.dump:
            (folder / "passes").mkdir(exist_ok=True)
            for number, (each, text) in enumerate(program.dumps.items()):
                (folder / "passes" / f"{number:02}_{each}.txt").write_text(text, "utf-8")
        taken = sum(buffer["bytes"] for buffer in program.l1)
        cores = len(program.module.cores)
        print(f"{name}: {cores} cores, {len(program.l1)} circular buffers of {taken} bytes, in {folder}")
        if arguments.build:
            print(f"  built {program.build(folder)}")
    return 0


def _kernels(where: str, wanted: str) -> dict[str, Any]:
    module = module_of(where)
    found = {name: value for name, value in vars(module).items() if type(value).__name__ == "PrimFunc"}
    if wanted and wanted not in found:
        raise DialectError(f"{where} holds no PrimFunc `{wanted}`", hint=f"it has {', '.join(sorted(found)) or 'none'}")
    if not found:
        raise DialectError(f"{where} holds no PrimFunc", hint="kernel = build(1024, 1024) at the file's top level")
    return {wanted: found[wanted]} if wanted else found


def _pair(text: str, what: str, between: str) -> tuple[int, int]:
    parts = text.split(between)
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        raise DialectError(f"{what} takes two numbers, such as 4{between}2, got {text!r}")
    return int(parts[0]), int(parts[1])


def _layout(text: str) -> tuple[str, dict[str, Any]]:
    tensor, colon, rest = text.partition(":")
    pairs = [part.partition("=") for part in rest.split(",")]
    if not colon or not all(key and value for key, _, value in pairs):
        raise DialectError(f"--layout takes TENSOR:KEY=VALUE, such as A:memory=L1,shard=4x2, got {text!r}")
    layout: dict[str, Any] = {key: value for key, _, value in pairs}
    if "shard" in layout:
        layout["shard"] = _pair(layout["shard"], "--layout shard=", "x")
    return tensor, layout
