"""The command line ``tle-raw``, also ``python -m tle_raw``: one module per command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import tle_raw
from tle_raw.cli import cache, compile, doctor, inspect, libraries, pack, port, prototype, tenstorrent
from tle_raw.errors import TLEError

WRONG_INPUT = 2
COMMANDS = (doctor, inspect, prototype, port, pack, libraries, compile, tenstorrent, cache)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; gives the exit code: 0 fine, 1 the answer is no, 2 wrong input."""
    parsed = _parser().parse_args(arguments)
    try:
        return int(parsed.run(parsed))
    except TLEError as error:
        print(f"tle-raw: {error}", file=sys.stderr)
        return WRONG_INPUT
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `tle-raw cache list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tle-raw", description="Device code written in another language, inside a Triton kernel."
    )
    parser.add_argument("--version", action="version", version=f"tle_raw {tle_raw.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_to(commands)
    return parser
