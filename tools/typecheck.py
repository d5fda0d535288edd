"""Runs mypy over the package as it is installed: ``python tools/typecheck.py [mypy options]``.

mypy knows nothing of package mappings, so it gets a view of the tree, made of links, in which ``adapters`` is
``tle_raw/adapters``. Its messages are given back with the paths of the checkout.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VIEW = ROOT / "build" / "typecheck"
MAPPED = ("adapters", "linker", "frontends")  # as in setup.py


def make_view() -> None:
    shutil.rmtree(VIEW, ignore_errors=True)
    package = VIEW / "tle_raw"
    package.mkdir(parents=True)
    for path in [*(ROOT / "tle_raw").iterdir(), *(ROOT / name for name in MAPPED)]:
        (package / path.name).symlink_to(path)


def in_checkout(line: str) -> str:
    """``build/typecheck/tle_raw/adapters/x.py`` is ``adapters/x.py``."""
    prefix = f"{VIEW.relative_to(ROOT)}/tle_raw/"
    if not line.startswith(prefix):
        return line
    rest = line.removeprefix(prefix)
    return rest if rest.startswith(MAPPED) else f"tle_raw/{rest}"


def main() -> int:
    make_view()
    command = [sys.executable, "-m", "mypy", "-p", "tle_raw", *sys.argv[1:]]
    environment = {"MYPYPATH": str(VIEW.relative_to(ROOT)), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    print(*map(in_checkout, done.stdout.splitlines()), sep="\n")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
