"""What can become of a file of a cache: eleven kinds of damage."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

Damage = Callable[[Path, Path], None]


def bit_flip(file: Path, other: Path) -> None:
    content = bytearray(file.read_bytes() or b"\0")  # a lock is empty
    dice = random.Random(len(content))
    for _ in range(3):
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    rewrite(file, bytes(content))


def truncation(file: Path, other: Path) -> None:
    rewrite(file, file.read_bytes()[: file.stat().st_size // 2])


def emptied(file: Path, other: Path) -> None:
    rewrite(file, b"")


def garbage(file: Path, other: Path) -> None:
    rewrite(file, random.Random(1).randbytes(file.stat().st_size))


def of_another(file: Path, other: Path) -> None:
    rewrite(file, other.read_bytes())


def deleted(file: Path, other: Path) -> None:
    file.unlink()


def directory(file: Path, other: Path) -> None:
    file.unlink()
    file.mkdir()
    (file / "inside").write_text("text")


def link(file: Path, other: Path) -> None:
    file.unlink()
    file.symlink_to(other)


def link_to_nothing(file: Path, other: Path) -> None:
    file.unlink()
    file.symlink_to(file.with_name("nothing"))


def unreadable(file: Path, other: Path) -> None:
    """Another user's where this one is root, whom no mode stops."""
    if os.geteuid():
        file.chmod(0)
    else:
        os.chown(file, 65534, 65534)


def zeros(file: Path, other: Path) -> None:
    rewrite(file, bytes(file.stat().st_size))


def rewrite(file: Path, content: bytes) -> None:
    """The same file, as a failing disk leaves it."""
    with open(file, "r+b") as stream:
        stream.truncate(0)
        stream.write(content)


def damage(file: Path, kind: str, other: Path) -> None:
    """``file`` may be a link, too; ``other`` is a file of the same kind."""
    if file.is_symlink() and kind != "deleted":
        file.unlink()
        shutil.copy(other, file) if other.is_file() else file.touch()
    KINDS[kind](file, other)


KINDS: dict[str, Damage] = {
    d.__name__: d
    for d in (
        bit_flip, truncation, emptied, garbage, of_another, deleted, directory, link, link_to_nothing, unreadable,
        zeros,
    )
}  # fmt: skip
