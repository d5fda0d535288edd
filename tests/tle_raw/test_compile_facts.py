"""The facts of a compile: gathered under their own names, and the same after they were stored."""

import json
from pathlib import Path

from tle_raw.fragments.adapter import CompilerOutput
from tle_raw.fragments.compile_facts import CompileFacts
from tle_raw.linker.llvm.global_effects import GlobalEffects
from tle_raw.linker.llvm.shared_memory import SharedVariable
from tle_raw.linker.prepare import LinkableModule

OUTPUT = CompilerOutput(
    "device code", "thread", (Path("/a.cu"), Path("/b.h")), 0.5, "clang 21", warnings="unused", dynamic_shared=64,
    block=(16, 16), route="linked", register_limit=168, exclusive=True,
)  # fmt: skip
MODULE = LinkableModule(
    "linked text", "entry", (SharedVariable("scratch", 96, 8),), True, 7, ("printf",), GlobalEffects(True, False)
)
FACTS = CompileFacts.of("scale", OUTPUT, MODULE, {"/b.h": "digest"})


def test_facts_come_from_the_compiler_and_from_the_linkable_module():
    assert (FACTS.name, FACTS.entry, FACTS.static_shared) == ("scale", "entry", (("scratch", 96, 8),))
    assert (FACTS.reads_global, FACTS.writes_global, FACTS.uses_barrier, FACTS.exclusive) == (True, False, True, True)
    assert (FACTS.block, FACTS.files, FACTS.missed) == ((16, 16), OUTPUT.files, (("/b.h", "digest"),))


def test_what_is_stored_is_read_as_it_was():
    written = json.loads(json.dumps({**FACTS.to_json(), "created": 1.0}))
    assert CompileFacts.from_json(written) == FACTS
