"""``tle-raw pack``: a manifest and sources become a library; ``tle-raw pack init`` writes a first manifest."""

from __future__ import annotations

import argparse
from pathlib import Path

from tle_raw.errors import ManifestError


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "pack",
        help="make a library of intrinsics of a manifest and its sources",
        description="`tle-raw pack acme.toml -o FOLDER` compiles and checks all that a manifest names and writes a "
        "Python package, ready for `pip wheel --no-deps FOLDER`. `tle-raw pack init acme.cuh` writes a first manifest.",
    )
    parser.add_argument("what", nargs="+", metavar="MANIFEST | init HEADER", help="a manifest; or init and a header")
    parser.add_argument(
        "-o", "--output", metavar="PATH", help="the folder, by default dist/NAME; of init: the manifest"
    )
    parser.add_argument("--name", help="of init: the library's name, by default the header's")
    parser.add_argument(
        "--check", action="store_true", help="check the manifest and what the sources tell; no compiler"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.what[0] == "init" and len(arguments.what) == 2:
        return _init(Path(arguments.what[1]), arguments.output, arguments.name)
    if len(arguments.what) != 1:
        raise ManifestError("pack takes one manifest", hint="tle-raw pack acme.toml, or tle-raw pack init acme.cuh")
    from tle_raw.libraries.packing.check_abi import check_abi  # each reads sources, which few commands do
    from tle_raw.libraries.packing.pack import pack
    from tle_raw.libraries.packing.read_manifest import read_manifest

    manifest = read_manifest(Path(arguments.what[0]))
    check_abi(manifest)
    if arguments.check:
        print(f"{manifest.name} {manifest.version}: {len(manifest.functions)} functions, no mismatch found")
        return 0
    folder = Path(arguments.output) if arguments.output else Path("dist") / manifest.name
    packed = pack(manifest, folder, print)
    print(
        f"{manifest.name} {manifest.version}: {packed.functions} functions, {packed.codes} files of code, in {folder}"
    )
    print(f"next: pip wheel --no-deps {folder if '/' in str(folder) else f'./{folder}'}")
    return 0


def _init(header: Path, output: str | None, name: str | None) -> int:
    from tle_raw.libraries.packing.first_manifest import first_manifest

    file = Path(output) if output else header.with_suffix(".toml")
    text = first_manifest(header, name, file.parent)
    if file.exists():
        raise ManifestError(f"{file} exists already", hint="give another with -o")
    file.write_text(text, "utf-8", "surrogateescape")
    declared, left = (sum(line.startswith(begin) for line in text.splitlines()) for begin in ("[[function]]", "# `"))
    rest = f", and {left} as comments that say what is missing" if left else ""
    print(f"wrote {file} with {declared} functions{rest}: go through it, then: tle-raw pack {file}")
    return 0
