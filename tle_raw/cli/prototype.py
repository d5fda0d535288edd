"""``tle-raw prototype``: the function that a fragment's source has to define."""

from __future__ import annotations

import argparse

from tle_raw.cli.load import HOW, fragments_of


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("prototype", help="print the functions that the fragments of a file expect")
    parser.add_argument("where", metavar="FILE.py[:fragment]", help=HOW)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    found = fragments_of(arguments.where)
    print("\n\n".join(fragment.prototype().rstrip() for fragment in found.values()))
    return 0
