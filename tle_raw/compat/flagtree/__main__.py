"""``python -m tle_raw.compat.flagtree script.py ...`` and ``... -m module ...``: run a program of FlagTree's."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from tle_raw.compat.flagtree.finder import install, install_in_children

USAGE = "usage: python -m tle_raw.compat.flagtree (SCRIPT.py | -m MODULE) [ARGUMENT ...]"


def main() -> None:
    """Install the names, and run what the command line says in this process as ``__main__``."""
    arguments = sys.argv[1:]
    if not arguments or arguments in (["-h"], ["--help"], ["-m"]):
        print(f"{USAGE}\n\n{__doc__}")
        raise SystemExit(0 if arguments[:1] in (["-h"], ["--help"]) else 2)
    install()
    install_in_children()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    script = Path(arguments[0])
    if not script.is_file():
        raise SystemExit(f"{USAGE}\nthere is no file {script}")
    sys.argv = arguments
    sys.path[0] = str(script.resolve().parent)
    runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    main()
