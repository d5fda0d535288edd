"""Operations that run iterations ahead and that Triton's pipeliner cannot mask, in a branch, which it can.

Regions with their tiles are such operations, and up to Triton 3.8 products by ``wgmma``. The branch is always taken;
the pipeliner adds to its condition that the iteration comes::

    %r:2 = "scf.if"(%true) ({ operations; yield what others use }, { yield nothing of those types }) : (i1) -> (...)
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tle_raw.errors import ScheduleError
from tle_raw.flir.loop_body import LoopBody
from tle_raw.linker.mlir.generic_operation import read_generic
from tle_raw.linker.mlir.text import location_of

_BUFFER = "!ttg.memdesc"
_NUMBER = re.compile(r"tensor<(?:\d+x)*(?P<element>[fi]\d+|bf16)[,>]|(?P<scalar>[fi]\d+|bf16)$")


def mask_run(body: LoopBody, run: Sequence[int], texts: list[str], order: list[int], at: str) -> None:
    """Put operations of one place into a branch.

    Parameters
    ----------
    run : the operations, by their places in the body.
    texts : all lines of each operation, and of the ``scf.yield``. The run's last gets the branch, its others nothing.
    order : in which the operations stand. What the run does not need comes to stand behind it.
    at : the attributes of every operation of the place.

    Raises
    ------
    ScheduleError : a buffer leaves the branch: a tile that one region hands to the next where it lies.
    """
    inside, last = set(run), run[-1]
    others = [number for number in range(len(texts)) if number not in inside]
    made = [each for number in run for each in _results(texts[number])]
    used = [(name, type_) for name, type_ in made if any(_uses(texts[number], name) for number in others)]
    if any(type_.startswith(_BUFFER) for _, type_ in used):
        raise handed_over()
    name = f"%tle_ahead_{body.operations[last].end}"
    texts[last] = _branch(name, [texts[number] for number in run], used, at)
    for number in run[:-1]:
        texts[number] = ""
    for place, (old, _) in enumerate(used):
        new = f"{name}#{place}" if len(used) > 1 else name
        for number in others:
            texts[number] = _renamed(texts[number], old, new)
    needed = _needed(body, run)
    first = order.index(run[0])
    segment = order[first : order.index(last) + 1]
    before = [number for number in segment if number in needed and number not in inside]
    behind = [number for number in segment if number not in needed and number not in inside]
    order[first : first + len(segment)] = [*before, *run, *behind]


def handed_over() -> ScheduleError:
    """The error of a buffer that two places use."""
    return ScheduleError(
        "a region that runs iterations ahead hands its tile to a region of another group, where it lies",
        hint="put both regions into one group",
    )


def _results(text: str) -> list[tuple[str, str]]:
    """Name and type of each result of an operation."""
    first, final = text.splitlines()[0], text.splitlines()[-1].strip()
    if not first.lstrip().startswith("%"):
        return []
    whole = read_generic(first if first.strip() == final else '%x = "nest"()' + final.removeprefix("})"))
    base, _, count = first.strip().partition(" = ")[0].partition(":")
    names = [f"{base}#{place}" for place in range(int(count))] if count else [base]
    return list(zip(names, whole.result_types))


def _pattern(name: str) -> str:
    return rf"{re.escape(name)}(?![\w$.\-#])"


def _uses(text: str, name: str) -> bool:
    return re.search(_pattern(name), text) is not None


def _renamed(text: str, old: str, new: str) -> str:
    return re.sub(_pattern(old), new, text)


def _needed(body: LoopBody, run: Sequence[int]) -> set[int]:
    """What the run needs of its own iteration, directly or not."""
    found, waiting = set[int](), list(run)
    while waiting:
        user = waiting.pop()
        makers = {need.maker for need in body.needs if need.user == user and not need.is_carried} - found
        found |= makers
        waiting += makers
    return found


def _branch(name: str, texts: Sequence[str], used: Sequence[tuple[str, str]], at: str) -> str:
    location = location_of(texts[-1])
    types = ", ".join(type_ for _, type_ in used)
    counted = f":{len(used)}" if len(used) > 1 else ""
    nothing = [(f"{name}_nothing_{place}", type_) for place, (_, type_) in enumerate(used)]

    def yields(values: Sequence[tuple[str, str]]) -> str:
        return f'"scf.yield"({", ".join(value for value, _ in values)}) : ({types}) -> (){location}'

    return "\n".join(
        (
            f'{name}_always = "arith.constant"() <{{value = true}}> {{{at}}} : () -> i1{location}',
            f'{f"{name}{counted} = " if used else ""}"scf.if"({name}_always) ({{',
            *texts,
            yields(used),
            "}, {",
            *(f"{value} = {_nothing(type_)}{location}" for value, type_ in nothing),
            yields(nothing),
            f"}}) {{{at}}} : (i1) -> ({types}){location}",
        )
    )


def _nothing(type_: str) -> str:
    match = _NUMBER.match(type_)
    element = (match["element"] or match["scalar"]) if match else ""
    if not match:
        return f'"ub.poison"() <{{value = #ub.poison}}> : () -> {type_}'
    zero = "0" if element.startswith("i") else "0.000000e+00"
    value = f"dense<{zero}> : {type_}" if match["element"] else f"{zero} : {type_}"
    return f'"arith.constant"() <{{value = {"false" if value == "0 : i1" else value}}}> : () -> {type_}'
