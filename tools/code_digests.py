"""Says whether a change of this package changed the code that kernels become.

    PYTHONPATH=tools python -m pytest -p code_digests --code-digests=BEFORE tests …      in the tree before the change
    PYTHONPATH=tools python -m pytest -p code_digests --code-digests=AFTER tests …       in the tree after it
    python tools/code_digests.py BEFORE AFTER

A pytest plugin writes one line for every kernel that a test compiles or finds in Triton's cache: the test, the kernel,
and a digest of each form of its code. Locations of the source and digests within names do not count, since they change
with every edit of this package. ``--code-texts`` keeps the forms too, one file a digest, to be looked at with diff.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# Forms that are text; the binaries follow from them.
FORMS = ("ttir", "ttgir", "linalg", "llvmir", "llir", "ptx", "asm")
DIGEST_IN_NAME = re.compile(r'(?:(?<=[_"-])|(?<=\\22))[0-9a-f]{16,64}(?![0-9a-zA-Z])')
TEMPORARY = re.compile(r"/tmp/[\w./@ -]*")
LOCATION = re.compile(
    r"""[ ]*\bloc\((?:[^()"]|"[^"]*"|\((?:[^()"]|"[^"]*"|\([^()]*\))*\))*\)   # MLIR
      | ,[ ]!(?:dbg|tbaa|srcloc)[ ]![0-9]+                                    # LLVM
      | [ ]*(?://|;|\#)[ ].*$                                                  # comments
    """,
    re.VERBOSE | re.MULTILINE,
)
NO_CODE = re.compile(
    r"""\s*(?: \#loc | \#di_ | ! | \#dbg_ | source_filename | ;
             | \.(?:loc|file|section|ident|cfi_\w+|p2align|size|type|b8|b16|b32|b64)\b
             | (?:\$L__(?:tmp|info_string|func_(?:begin|end))|\.L(?:tmp|func_(?:begin|end)))\w*: )""",
    re.VERBOSE,
)
DEBUG_SECTION = re.compile(r"^\s*\.section\s+\"?\.debug.*\Z", re.MULTILINE | re.DOTALL)


def code_of(text: str) -> str:
    """The text without locations, comments, and digests in names."""
    text = DEBUG_SECTION.sub("", text)
    text = DIGEST_IN_NAME.sub("DIGEST", TEMPORARY.sub("TEMPORARY", LOCATION.sub("", text)))
    lines = (line.rstrip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not NO_CODE.match(line))


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:20]


# The plugin.


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--code-digests", help="a folder for the digests of every kernel's code")
    parser.addoption("--code-texts", help="a folder for the forms of the code themselves")


def pytest_configure(config: pytest.Config) -> None:
    folder = config.getoption("--code-digests")
    if not folder or (config.getoption("numprocesses", None) and not hasattr(config, "workerinput")):
        return
    os.makedirs(folder, exist_ok=True)
    texts = config.getoption("--code-texts")
    if texts:
        os.makedirs(texts, exist_ok=True)
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    record_into(Path(folder, f"{worker}.jsonl"), Path(texts) if texts else None)


def record_into(file: Path, texts: Path | None) -> None:
    from triton.compiler.compiler import CompiledKernel

    finish = CompiledKernel.__init__

    def finish_and_record(self: Any, *args: Any, **kwargs: Any) -> None:
        finish(self, *args, **kwargs)
        codes = {form: code_of(self.asm[form]) for form in FORMS if form in self.asm}
        digests = {form: digest_of(code) for form, code in codes.items()}
        test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
        with file.open("a") as out:
            out.write(json.dumps({"test": test, "kernel": self.name, "forms": digests}) + "\n")
        for form, code in codes.items() if texts else ():
            path = texts / f"{digests[form]}.{form}"  # type: ignore[operator]
            if not path.exists():
                path.write_text(code, errors="surrogateescape")

    CompiledKernel.__init__ = finish_and_record


# The comparison.

Kernels = dict[tuple[str, str], collections.Counter[tuple[tuple[str, str], ...]]]


def read(folder: Path) -> Kernels:
    kernels: Kernels = collections.defaultdict(collections.Counter)
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text().splitlines():
            record = json.loads(line)
            name = DIGEST_IN_NAME.sub("DIGEST", record["kernel"])
            kernels[record["test"], name][tuple(sorted(record["forms"].items()))] += 1
    return kernels


def differences(before: Kernels, after: Kernels) -> Iterator[str]:
    """A line for each kernel of a test in both, whose codes are not the same."""
    for test, kernel in sorted(before.keys() & after.keys()):
        old, new = set(before[test, kernel]), set(after[test, kernel])
        if old == new:
            continue
        forms = {form for one in (old - new, new - old) for codes in one for form, _ in codes}
        changed = [form for form in FORMS if form in forms and _of(form, old) != _of(form, new)]
        yield f"{test}  {kernel}  {' '.join(changed)}"
        for form in changed:
            yield f"    {form}: {' '.join(sorted(_of(form, old)))} -> {' '.join(sorted(_of(form, new)))}"


def _of(form: str, kernels: set[tuple[tuple[str, str], ...]]) -> set[str]:
    return {dict(codes)[form] for codes in kernels if form in dict(codes)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    options = parser.parse_args()
    before, after = read(options.before), read(options.after)
    found = list(differences(before, after))
    print(*found, sep="\n")
    both = before.keys() & after.keys()
    changed = sum(not line.startswith(" ") for line in found)
    print(
        f"{len(both)} kernels of tests in both, {changed} of them changed; "
        f"{len(before.keys() - after.keys())} only before, {len(after.keys() - before.keys())} only after"
    )
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
