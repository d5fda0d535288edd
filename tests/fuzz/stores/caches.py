"""The caches under test: what lies in them, how to damage them, and whether they are healthy."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

from tests.fuzz.stores.damages import KINDS, damage
from tle_raw.store import FRAGMENTS, RUNTIMES, Cache, Store

# What must be gone so that a file of the kind is needed again.
BELOW = {
    "kernels": (),
    "links": (),
    "fragments": ("kernels",),
    "team": ("kernels", "fragments"),
    "headers": ("kernels", "fragments"),
}
NAMED = "Error: "  # an error of the project begins with its name
CHILDREN = 8
TOGETHER = 8  # one damage of so many is met by several processes


class Caches:
    """Both cache folders, filled once; each case starts from that."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.whole = folder / "caches", folder / "whole"
        self.folder.mkdir(parents=True)
        environment = os.environ | {
            "TLE_RAW_TARGET": "cpu",
            "TLE_RAW_CACHE_DIR": str(self.folder),
            "TRITON_CACHE_DIR": str(self.folder / "kernels"),
        }
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(Path(__file__).with_name("kernels_process.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True,
        )  # fmt: skip
        assert self._process.stdout is not None and self._process.stdout.readline() == "ready\n"
        assert self.run() == ["right"]
        shutil.copytree(self.folder, self.whole, symlinks=True)
        self.texts = self._texts()
        self.files = sorted(f.relative_to(self.folder) for f in self.folder.rglob("*") if f.is_symlink() or f.is_file())

    def run(self, kills: tuple[float | None, ...] = (None,)) -> list[str]:
        """What became of each process."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(kills) + "\n")
        self._process.stdin.flush()
        return list(json.loads(self._process.stdout.readline()))

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate()

    def restore(self) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(self.whole, self.folder, symlinks=True)

    def damage(self, file: Path, kind: str, dice: random.Random) -> None:
        """Damage one file, and make it needed where what was made of it would do."""
        alike = [f for f in self.files if f != file and f.suffix == file.suffix] or [f for f in self.files if f != file]
        damage(self.folder / file, kind, self.whole / dice.choice(alike))
        if dice.random() < 0.5:
            for below in BELOW[file.parts[0]]:
                shutil.rmtree(self.folder / below, ignore_errors=True)

    def faults(self) -> list[str]:
        """What is still wrong after everything ran once: nothing may be made again, and nothing be false."""
        before = self._identities()
        found = [said for said in self.run() if said != "right"]
        found += [f"made again: {name}" for name in sorted(self._identities() - before)]
        found += [f"false: {key}" for key, text in self._texts().items() if text not in (None, self.texts.get(key))]
        if any(kind == "links" and not entry.path.is_dir() for kind, entry in Cache(self.folder).entries()):
            found.append("a folder of links is none")
        return found

    def _identities(self) -> set[tuple[str, int]]:
        """Each file that is used, as it lies on the disk: all are replaced whole."""
        found = set()
        for file in self.folder.rglob("*"):
            name = str(file.relative_to(self.folder))
            if not name.endswith(".lock") and "tmp.pid_" not in name and ".draft-" not in name and not file.is_dir():
                found.add((name, file.lstat().st_ino))
        return found

    def _texts(self) -> dict[tuple[str, str], str | None]:
        stores = [Store(self.folder, kind) for kind in (FRAGMENTS, RUNTIMES)]
        found = [(store, entry.key) for store in stores for entry in store.entries()]
        entries = {(store.kind, key): store.load(key) for store, key in found}
        return {key: entry.text if entry else None for key, entry in entries.items()}


def cases(caches: Caches, number: int) -> list[tuple[Path, str, bool]]:
    """File, kind of damage, and whether several processes meet it. All pairs come before any comes twice."""
    dice = random.Random(16)
    found: list[tuple[Path, str, bool]] = []
    while len(found) < number:
        pairs = [(file, kind) for file in caches.files for kind in KINDS]
        dice.shuffle(pairs)
        found += [(file, kind, n % TOGETHER == TOGETHER - 1) for n, (file, kind) in enumerate(pairs)]
    return found[:number]


def wrong(said: list[str]) -> list[str]:
    """Right numbers and the project's errors are right; killed is what was asked for."""
    return [s for s in said if s not in ("right", "killed") and NAMED not in s.split("\n")[0]]
