"""The linker's whole way: a compiler's LLVM IR in, one checked module that Triton can link out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tle_raw.linker.abi import check_entry
from tle_raw.linker.llvm.functions import read_function
from tle_raw.linker.llvm.global_effects import GlobalEffects, global_effects
from tle_raw.linker.llvm.normalise import normalise
from tle_raw.linker.llvm.references import reachable, recursive, references
from tle_raw.linker.llvm.shared_memory import SharedVariable, static_shared
from tle_raw.linker.llvm.symbols import privatise, refuse_unlinkable
from tle_raw.linker.llvm.text import Module, Token, read_module, tokenize
from tle_raw.linker.unresolved import RUNTIME_BUILTINS, check_resolved

BARRIER_INTRINSICS = ("llvm.nvvm.barrier", "llvm.nvvm.bar.")
BARRIER_INSTRUCTIONS = (
    "bar.sync",
    "bar.arrive",
    "bar.red",
    "barrier.sync",
    "barrier.cta",
    "barrier.red",
    "barrier.arrive",
)


@dataclass(frozen=True)
class LinkableModule:
    """A fragment ready to be linked.

    ``instructions`` counts LLVM instructions that the entry reaches. ``kept_calls`` are functions that stay
    calls: the author's ``__noinline__`` ones, recursive ones, the CUDA runtime's. They have the source's
    names; ``symbols.private_name`` gives the name in the linked kernel. ``memory`` is what it may do to global memory.
    """

    text: str
    entry: str
    static_shared: tuple[SharedVariable, ...]
    uses_barrier: bool
    instructions: int
    kept_calls: tuple[str, ...]
    memory: GlobalEffects = GlobalEffects(True, True)


def prepare(
    text: str,
    *,
    entry: str,
    parameters: Sequence[str],
    result: str,
    edit: Callable[[Module], Module],
    inline: bool = True,
) -> LinkableModule:
    """Check a fragment's LLVM IR against its ports and make it linkable.

    Parameters
    ----------
    entry : the function that the kernel calls. Its name must not be the kernel's.
    parameters, result : the LLVM types that the ports pass and expect.
    edit : the target's passes over the module, once it is checked; ``link_edits`` are the least.
    inline : False where ``edit`` keeps the entry a function of its own.

    Raises
    ------
    SymbolError, AbiError, UnsupportedFeatureError, UnresolvedSymbolError, UnreadableIRError
    """
    module = read_module(text)
    refuse_unlinkable(module)
    check_entry(module, entry, parameters, result)
    shared = static_shared(module, entry)
    check_resolved(module, entry)
    graph = references(module)
    reached = reachable(graph, [entry])
    return LinkableModule(
        text=edit(module).text,
        entry=entry,
        static_shared=shared,
        uses_barrier=_uses_barrier(module, reached),
        instructions=count_instructions(module, reached),
        kept_calls=tuple(sorted(_kept(module, entry, inline, reached) | recursive(graph, reached & _defined(module)))),
        memory=global_effects(module, entry, reached),
    )


def link_edits(entry: str, *, inline: bool = True, older_llvm: bool = False) -> Callable[[Module], Module]:
    """The edits without which no module links: for a target that has no passes of its own over fragments."""
    return lambda module: privatise(normalise(module, older_llvm=older_llvm), entry, inline)


def count_instructions(module: Module, reached: frozenset[str]) -> int:
    """LLVM instructions of the reached functions."""
    return sum(map(len, _bodies(module, reached)))


def _defined(module: Module) -> frozenset[str]:
    return frozenset(entity.name for entity in module.of_kind("define"))


def _bodies(module: Module, reached: frozenset[str]) -> Iterator[list[str]]:
    """The instructions of every reached function: the lines that are no label, comment or record."""
    for entity in module.of_kind("define"):
        if entity.name in reached:
            lines = module.text[entity.body + 1 : entity.end - 1].splitlines()
            yield [line for line in map(str.strip, lines) if _is_instruction(line)]


def _is_instruction(line: str) -> bool:
    """LLVM writes one instruction a line; a switch has a row, which begins with a type, for each case."""
    label = line.split(";")[0].rstrip().endswith(":")
    row = line[:1] == "i" and line[1:2].isdecimal()
    return bool(line) and not line.startswith((";", "#", "]")) and not label and not row


def _uses_barrier(module: Module, reached: frozenset[str]) -> bool:
    if any(name.startswith(BARRIER_INTRINSICS) and ".warp" not in name for name in reached):
        return True
    return any(
        _is_barrier_asm(previous, token)
        for entity in module.of_kind("define")
        if entity.name in reached and " asm " in module.text[entity.body : entity.end]
        for previous, token in pairwise(tokenize(module.text, entity.body, entity.end))
    )


def _is_barrier_asm(previous: Token, token: Token) -> bool:
    named = any(instruction in token.text for instruction in BARRIER_INSTRUCTIONS)
    return (
        token.kind == "string"
        and named
        and previous.text in ("asm", "sideeffect", "alignstack", "inteldialect", "unwind")
    )


def _kept(module: Module, entry: str, inline: bool, reached: frozenset[str]) -> frozenset[str]:
    noinline = {
        tokens[1].text
        for tokens in map(module.header, module.of_kind("attributes"))
        if any(token.text == "noinline" for token in tokens)
    }
    kept = reached & RUNTIME_BUILTINS | (frozenset() if inline else {entry})
    for entity in module.of_kind("define"):
        function = read_function(module, entity)
        own = any(token.text == "noinline" for token in function.after)
        if entity.name in reached - {entry} and (own or noinline & set(function.groups)):
            kept |= {entity.name}
    return kept
