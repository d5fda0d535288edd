"""Draws declarations that are right, and others that are wrong in exactly one place."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from types import ModuleType

from tests.fuzz.signatures import cuda_text, llvm_text, mlir_text
from tests.fuzz.signatures.declared import DTYPE_NAMES, Case, Declared, Function, Port, draw_parameters
from tle_raw.fragments.argument import CONSTANT, Argument
from tle_raw.fragments.bound import CONST, ELEMENT, POINTER, SCALAR, TILE
from tle_raw.fragments.dtypes import DTYPES

LANGUAGES: dict[str, ModuleType] = {"cuda": cuda_text, "llvm": llvm_text, "mlir": mlir_text}


@dataclass(frozen=True)
class Wrong:
    """A case with one fault: ``place`` is "function", "signature" or "call", ``what`` says which."""

    case: Case
    place: str
    what: str
    arguments: tuple[Argument, ...] = ()


def draw_case(random: Random, dialect: str, name: str) -> Case:
    parameters, result, told = draw_parameters(random)
    ports, returned = LANGUAGES[dialect].ports(random, parameters, bool(result))
    return Case(name, parameters, result, Function(dialect, name, ports, returned), told)


def draw_wrong(random: Random, dialect: str, name: str) -> Wrong:
    """Draws until the fault is one: what the oracle below knows to be right all the same is drawn again."""
    while True:
        case = draw_case(random, dialect, name)
        fault = random.choice(FAULTS)
        wrong = fault(random, case)
        if wrong is not None and (wrong.place == "call" or not is_right(wrong.case)):
            return wrong


def is_right(case: Case) -> bool:
    """Whether the function takes the signature's parameters one by one, and gives back what it should.

    Constants are taken by LLVM and MLIR all, or none where no parameter could be one; C++ has them as macros. An output
    of an elementwise function is behind a pointer, or is the result, as a parameter or without.
    """
    return any(
        _returns(case, form) and _takes(case, _passed(case, has_constants, form), form)
        for has_constants in (True, False)
        for form in _output_forms(case)
    )


def _passed(case: Case, has_constants: bool, form: str) -> list[Declared]:
    has_constants = has_constants and case.function.dialect != "cuda"
    return [p for p in case.parameters if (p.kind != CONST or has_constants) and not (is_output(p) and form == "made")]


def _takes(case: Case, passed: list[Declared], form: str) -> bool:
    language, dialect = LANGUAGES[case.function.dialect], case.function.dialect
    ports = [p for p in case.function.ports if p.types]
    if len(passed) != len(ports) or not all(language.fits(p, port.types) for p, port in zip(passed, ports)):
        return False
    if dialect == "cuda":
        return True
    behind = [port.types[0].endswith("ptr") for p, port in zip(passed, ports) if p.kind == ELEMENT and p.effect != "In"]
    return all(b == (form == "pointed") for b in behind) and not _may_be_another(case, passed, ports)


def _may_be_another(case: Case, passed: list[Declared], ports: list[Port]) -> bool:
    """Whether what is left out is named among the parameters, or a constant fits for one where others are forgotten."""
    absent = [p for p in case.parameters if p not in passed]
    names = {p.name for p in case.parameters}
    if {p.name for p in absent} & {port.name for port in ports}:
        return True
    fits = LANGUAGES[case.function.dialect].fits
    for chosen in itertools.combinations(case.parameters, len(ports)) if absent else ():
        can_be = all(
            fits(p, port.types) and (port.name not in names or port.name == p.name) for p, port in zip(chosen, ports)
        )
        if can_be and any(p.kind == CONST and p in absent for p in chosen):
            return True
    return False


def is_output(p: Declared) -> bool:
    return p.kind == ELEMENT and p.effect == "Out"


def _output_forms(case: Case) -> tuple[str, ...]:
    has_output = any(p.kind == ELEMENT and p.effect != "In" for p in case.parameters)
    if not has_output or case.function.dialect == "cuda":
        return ("none",)
    return ("pointed", "returned", "made")


def _returns(case: Case, written: str) -> bool:
    result, dialect = case.function.result, case.function.dialect
    if case.result or written in ("returned", "made"):
        return result == ("f64" if dialect == "mlir" else "double")
    return result in ("void", "") or dialect == "cuda"  # C++ drops a value that nobody takes


# --- faults of the function ---------------------------------------------------------------------------------------


def _with_ports(case: Case, ports: list[Port], what: str, place: str = "function") -> Wrong:
    function = replace(case.function, ports=tuple(ports), has_body=False)
    return Wrong(replace(case, function=function), place, what)


def drop_parameter(random: Random, case: Case) -> Wrong | None:
    ports = [p for p in case.function.ports if p.types]
    if not ports:
        return None
    gone = random.choice(ports)
    return _with_ports(case, [p for p in case.function.ports if p is not gone], f"`{gone.declared.name}` is missing")


def add_parameter(random: Random, case: Case) -> Wrong:
    type_ = random.choice(LANGUAGES[case.function.dialect].WRONG)
    ports = list(case.function.ports)
    extra = Port(Declared("more", SCALAR, "i32"), (type_,), "more")
    ports.insert(random.randint(0, len(ports)), extra)
    return _with_ports(case, ports, f"one more parameter, {type_}")


def change_parameter(random: Random, case: Case) -> Wrong | None:
    ports = [i for i, p in enumerate(case.function.ports) if p.types]
    if not ports:
        return None
    index, type_ = random.choice(ports), random.choice(LANGUAGES[case.function.dialect].WRONG)
    changed = list(case.function.ports)
    changed[index] = replace(changed[index], types=(type_,))
    return _with_ports(case, changed, f"parameter {index} is a {type_}")


def swap_parameters(random: Random, case: Case) -> Wrong | None:
    ports = list(case.function.ports)
    if len(ports) < 2:
        return None
    i, j = random.sample(range(len(ports)), 2)
    ports[i], ports[j] = ports[j], ports[i]
    return _with_ports(case, ports, f"parameters {i} and {j} are swapped")


def change_result(random: Random, case: Case) -> Wrong:
    types = {"mlir": ("", "f32", "i32", "f64"), "llvm": ("void", "float", "i32", "double")}
    result = random.choice(types.get(case.function.dialect, ("void", "float", "int", "double")))
    function = replace(case.function, result=result, has_body=False)
    return Wrong(replace(case, function=function), "function", f"it returns {result or 'nothing'}")


# --- faults of the signature --------------------------------------------------------------------------------------


def _with_parameters(case: Case, parameters: list[Declared], what: str) -> Wrong:
    function = replace(case.function, has_body=False)
    return Wrong(replace(case, parameters=tuple(parameters), function=function), "signature", what)


def drop_declared(random: Random, case: Case) -> Wrong | None:
    taken = [p.declared for p in case.function.ports if p.types]
    gone = random.choice(taken) if taken else None
    kept = [p for p in case.parameters if p is not gone]
    if gone is None or gone.kind == ELEMENT or not kept:
        return None
    return _with_parameters(case, kept, f"`{gone.name}` is not declared")


def add_declared(random: Random, case: Case) -> Wrong:
    kinds = (SCALAR, POINTER) if case.is_elementwise else (SCALAR, POINTER, TILE)
    kind, dtype = random.choice(kinds), random.choice(DTYPE_NAMES)
    parameters = list(case.parameters)
    extra = Declared("more", kind, dtype, dims=(4, 8) if kind == TILE else ())
    parameters.insert(random.randint(0, len(parameters)), extra)
    return _with_parameters(case, parameters, f"a {kind} more is declared")


def change_declared(random: Random, case: Case) -> Wrong | None:
    typed = [i for i, p in enumerate(case.parameters) if p.kind != CONST and p.effect == "In"]
    if not typed:
        return None
    index = random.choice(typed)
    p = case.parameters[index]
    ways: list[Callable[[], Declared]] = [lambda: replace(p, dtype=random.choice(DTYPE_NAMES))]
    if p.kind in (SCALAR, POINTER, TILE):
        ways.append(lambda: replace(p, kind=SCALAR if p.kind != SCALAR else POINTER, dims=()))
    if p.kind == TILE:
        ways += [lambda: replace(p, dims=(2, *p.dims)[:4]), lambda: replace(p, dims=(32, *p.dims[1:]))]
    changed = list(case.parameters)
    changed[index] = random.choice(ways)()
    return _with_parameters(case, changed, f"`{p.name}` is declared as {changed[index]}")


# --- faults of the call -------------------------------------------------------------------------------------------


def arguments_of(case: Case) -> list[Argument]:
    """What a right call passes."""
    return [_argument(p) for p in case.parameters if p.effect != "Out"]


def _argument(p: Declared) -> Argument:
    if p.kind == CONST:
        return Argument(CONSTANT, value=p.value)
    if p.kind == ELEMENT:
        return Argument(TILE, DTYPES[p.dtype], (8,))
    return Argument({SCALAR: SCALAR, POINTER: POINTER, TILE: TILE}[p.kind], DTYPES[p.dtype], p.shape)


def change_call(random: Random, case: Case) -> Wrong | None:
    """One argument more or less, of another dtype, kind, shape or value."""
    given, passed = arguments_of(case), [p for p in case.parameters if p.effect != "Out"]
    if not given:
        return None
    index = random.randrange(len(given))
    p, argument, way = passed[index], given[index], random.randint(0, 4)
    if way == 0:
        changed, what = [a for i, a in enumerate(given) if i != index], f"`{p.name}` is not passed"
    elif way == 1:
        changed, what = [*given, argument], "an argument more"
    else:
        other = _other_argument(random, p, argument, way)
        if other is None:
            return None
        changed, what = [*given[:index], other, *given[index + 1 :]], f"`{p.name}` is {other}"
    return Wrong(case, "call", what, tuple(changed))


def _other_argument(random: Random, p: Declared, argument: Argument, way: int) -> Argument | None:
    if p.kind == CONST:
        wrong_constants = (
            Argument(SCALAR, DTYPES["i32"]), Argument(CONSTANT, value=1.5), Argument(TILE, DTYPES["i32"], (4,)),
        )  # fmt: skip
        return random.choice(wrong_constants)
    if way == 2:
        return replace(argument, dtype=DTYPES[random.choice([d for d in DTYPE_NAMES if d != p.dtype])])
    if way == 3 and p.kind == TILE:
        literal = [i for i, d in enumerate(p.dims) if isinstance(d, int)]
        if literal:
            at = random.choice(literal)
            dims = (*argument.dims[:at], 2 * argument.dims[at], *argument.dims[at + 1 :])
            return replace(argument, dims=dims)
        return replace(argument, dims=(*argument.dims, 4))
    wrong = {
        SCALAR: [
            Argument(POINTER, argument.dtype),
            Argument(TILE, argument.dtype, (4,)),
            Argument("block of pointers"),
        ],
        POINTER: [Argument(SCALAR, argument.dtype), Argument(TILE, argument.dtype, (4,)), Argument(CONSTANT, value=0)],
        TILE: [Argument(POINTER, argument.dtype), Argument(SCALAR, argument.dtype), Argument(CONSTANT, value=1)],
        ELEMENT: [Argument(POINTER, argument.dtype), Argument("block of pointers"), Argument("other")],
    }
    return random.choice(wrong[p.kind])


FAULTS: tuple[Callable[[Random, Case], Wrong | None], ...] = (
    drop_parameter, add_parameter, change_parameter, change_parameter, swap_parameters, change_result,
    drop_declared, add_declared, change_declared, change_call,
)  # fmt: skip
