"""An object with its own digest behind it, where linkers do not look: damaged code is never loaded."""

from __future__ import annotations

import hashlib

from tle_raw.errors import LinkError

MARK = b"tle_raw object sha256:"
_BYTES = len(MARK) + hashlib.sha256().digest_size


def with_checksum(image: bytes) -> bytes:
    """The object with its digest."""
    return image + MARK + hashlib.sha256(image).digest()


def checked(image: bytes) -> bytes:
    """The object alone.

    Raises
    ------
    LinkError : it is not as it was made.
    """
    if with_checksum(image[:-_BYTES]) != image:
        raise LinkError(
            "the kernel's object is not as it was compiled: its file in Triton's cache is damaged",
            hint="run it again in a new process: what is damaged is compiled again",
        )
    return image[:-_BYTES]
