"""The examples on pages for users: code blocks by the file name in the comment before them."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def text(*pages: str) -> str:
    return "".join((ROOT / page).read_text() for page in pages)


def examples(*pages: str, kind: str = "") -> dict[str, str]:
    """Those marked ``<!-- example: NAME -->``; with a ``kind``, ``<!-- KIND example: NAME -->``."""
    return dict(re.findall(rf"<!-- {f'{kind} example'.strip()}: (\S+) -->\n```\w+\n(.*?)```", text(*pages), re.DOTALL))
