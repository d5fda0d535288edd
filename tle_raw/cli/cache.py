"""``tle-raw cache``: what lies in the cache, and how to get rid of it."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable

from tle_raw.cli.amounts import age_text, bytes_text
from tle_raw.columns import columns
from tle_raw.knobs import knobs
from tle_raw.store import Cache

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
BYTES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("cache", help="list, measure and clear the cache of what was compiled")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    for name, run, text in (
        ("path", print_path, "where the cache is"),
        ("list", print_list, "the entries, the longest unused first"),
        ("size", print_size, "number of entries and bytes"),
        ("clear", clear, "remove every entry; files that tle_raw did not make stay"),
        ("prune", prune, "remove what was not used for long, or what is too much"),
    ):
        action = actions.add_parser(name, help=text, description=text)
        action.set_defaults(run=run)
    action.add_argument("--older-than", type=duration, metavar="TIME", help="unused for 30d, 12h, 90m or 45s")
    action.add_argument("--max-size", type=size, metavar="SIZE", help="keep at most 500M, 2G, 800k bytes")


def print_path(arguments: argparse.Namespace) -> int:
    print(_cache().root)
    return 0


def print_list(arguments: argparse.Namespace) -> int:
    now = time.time()
    rows = [
        (kind, e.key[:24], e.meta.get("name", ""), bytes_text(e.size), f"used {age_text(now - e.last_used)} ago")
        for kind, e in _cache().entries()
    ]
    print("\n".join(columns(rows, indent="")) if rows else "the cache is empty")
    return 0


def print_size(arguments: argparse.Namespace) -> int:
    cache = _cache()
    print(f"{len(cache.entries())} entries, {bytes_text(cache.size())}")
    return 0


def clear(arguments: argparse.Namespace) -> int:
    _freed(lambda cache: cache.clear())
    return 0


def prune(arguments: argparse.Namespace) -> int:
    _freed(lambda cache: cache.prune(older_than_seconds=arguments.older_than, max_bytes=arguments.max_size))
    return 0


def duration(text: str) -> float:
    """Seconds in ``30d``."""
    return _number(text, SECONDS, "a time such as 30d, 12h, 90m or 45s")


def size(text: str) -> int:
    """Bytes in ``500M``."""
    return int(_number(text, BYTES, "a size such as 500M, 2G or 800k"))


def _number(text: str, units: dict[str, int], what: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]?)b?", text.strip().lower())
    if not match or match[2] not in units:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
    return float(match[1]) * units[match[2]]


def _freed(remove: Callable[[Cache], int]) -> None:
    cache = _cache()
    before = cache.size()
    count = remove(cache)
    print(f"{count} entries removed, {bytes_text(before - cache.size())} freed")


def _cache() -> Cache:
    return Cache(knobs.cache.dir)
