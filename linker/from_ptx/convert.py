"""PTX text in, LLVM IR text out: the functions that are asked for, and what they reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tle_raw.errors import SymbolError
from tle_raw.linker.from_ptx.body import SPACE_NUMBERS
from tle_raw.linker.from_ptx.function import KNOWN, check_type, plain_type, write_function
from tle_raw.linker.from_ptx.operands import immediate
from tle_raw.linker.from_ptx.read_module import PtxModule, PtxVariable, UnreadablePtxError, bits_of
from tle_raw.linker.llvm.functions import FunctionType
from tle_raw.linker.llvm.text import encode_name


def convert(
    module: PtxModule,
    wanted: Mapping[str, FunctionType | None],
    outside: Callable[[str], FunctionType | None] = lambda name: None,
) -> str:
    """LLVM IR that defines the wanted functions, of the types by which they will be called.

    PTX has no pointers, only sizes: without a type, parameters are integers. ``outside`` tells the types of functions
    that the module only declares, where another one defines them.

    Raises
    ------
    SymbolError : the module does not define a function. AbiError : its sizes are not those of the wanted type.
    UnreadablePtxError : an instruction that is not known here, a call through a register.
    """
    types: dict[str, FunctionType] = {}
    for name, type_ in wanted.items():
        function = module.functions.get(name)
        if function is None or function.body is None:
            raise SymbolError(f"the PTX defines no function `{name}`", hint=_defined(module))
        if function.is_entry:
            raise SymbolError(f"`{name}` is a kernel (.entry), and a fragment calls a device function (.func)")
        if type_ is not None:
            check_type(function, type_)
            types[name] = type_
    definitions: dict[str, str] = {}
    declared: dict[str, str] = {}
    variables: dict[str, PtxVariable] = {}
    intrinsics: set[str] = set()
    for name, function in module.functions.items():
        declared_type = outside(name) if function.body is None else None
        if declared_type is not None:
            check_type(function, declared_type)
            types[name] = declared_type
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name in definitions or name in declared:
            continue
        function = module.functions[name]
        if function.body is None:
            type_ = types.get(name) or KNOWN.get(name) or plain_type(function)
            declared[name] = f"declare {type_.result} {encode_name('@', name)}({', '.join(type_.parameters)})\n"
            continue
        definitions[name], body, called = write_function(module, function, types)
        intrinsics |= body.intrinsics
        variables |= {each: body.variables[each] for each in sorted(body.used)}
        waiting += sorted(called)
    parts = ['target triple = "nvptx64-nvidia-cuda"\n']
    parts += [_variable(variable) for variable in variables.values()]
    parts += [*definitions.values(), *declared.values(), *(f"{each}\n" for each in sorted(intrinsics))]
    return "\n".join(parts)


def _defined(module: PtxModule) -> str:
    names = [name for name, function in module.functions.items() if function.body is not None and not function.is_entry]
    return f"it defines {', '.join(names[:5])}" if names else "it defines no device function: compile with -rdc=true"


def _variable(variable: PtxVariable) -> str:
    bits = bits_of(variable.type)
    kind = f"[{variable.count} x i{bits}]"
    space = SPACE_NUMBERS[variable.space]
    settable = "externally_initialized " if variable.is_visible and variable.space in ("global", "const") else ""
    name = encode_name("@", variable.name)
    if variable.is_extern:
        return f"{name} = external addrspace({space}) global {kind}, align {variable.align}"
    if variable.space == "shared":
        return f"{name} = internal addrspace(3) global {kind} undef, align {variable.align}"
    linkage = "" if settable else "internal "
    return f"{name} = {linkage}addrspace({space}) {settable}global {kind} {_values(variable)}, align {variable.align}"


def _values(variable: PtxVariable) -> str:
    if variable.values is None:
        return "zeroinitializer"
    bits, is_float = bits_of(variable.type), variable.type.startswith("f")
    numbers: list[int] = []
    sign: tuple[str, ...] = ()
    for word in variable.values:
        if word == "-":
            sign = ("-",)
            continue
        number = immediate((*sign, word), bits, is_float)
        if number is None:
            raise UnreadablePtxError(f"the variable `{variable.name}` holds the address of another (`{word}`)")
        numbers.append(number)
        sign = ()
    numbers += [0] * (variable.count - len(numbers))
    return f"[{', '.join(f'i{bits} {number}' for number in numbers)}]"
