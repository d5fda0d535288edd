"""``tle-raw libraries``: the libraries of intrinsics that are installed."""

from __future__ import annotations

import argparse

from tle_raw.columns import columns
from tle_raw.errors import LibraryError
from tle_raw.libraries.installed import Installed, installed_libraries


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("libraries", help="list the libraries of intrinsics that are installed")
    parser.add_argument("name", nargs="?", help="one library: list its functions")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    found = list(installed_libraries())
    if arguments.name is not None:
        return _show(arguments.name, found)
    if not found:
        print("no library is installed")
        return 0
    rows = [("library", "version", "functions", "architectures", "packed by")]
    for each in found:
        index = each.index
        if index is None:
            rows.append((each.name, "?", "?", each.problem, ""))
            continue
        count = str(len(index.functions))
        rows.append((index.name, index.version, count, ", ".join(index.architectures), index.packed_by))
    print("\n".join(columns(rows)))
    return 1 if any(each.index is None for each in found) else 0


def _show(name: str, found: list[Installed]) -> int:
    each = next((each for each in found if each.name == name), None)
    if each is None:
        known = ", ".join(e.name for e in found) or "none"
        raise LibraryError(f"no library {name!r} is installed", hint=f"installed are: {known}")
    if each.index is None:
        raise LibraryError(f"the library {name} cannot be read: {each.problem}")
    index = each.index
    print(f"{index.title}  {index.summary}".rstrip())
    print(f"in {index.folder}, for {', '.join(index.architectures)}, packed by {index.packed_by}")
    for function in index.functions:
        print()
        print("\n".join(f"{function.name}{signature}" for signature in function.signatures))
        print("\n".join(f"    {line}".rstrip() for line in function.doc.splitlines()))
    return 0
