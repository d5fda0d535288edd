"""Compares the LLVM type of a fragment's entry with what the kernel passes; LLVM itself would be silent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from tle_raw.errors import AbiError, Row, SymbolError
from tle_raw.linker.llvm.functions import FunctionType, LlvmFunction, read_function
from tle_raw.linker.llvm.text import Module
from tle_raw.linker.machine_code.demangle import demangle
from tle_raw.near_names import near_names


def function_type(module: Module, name: str) -> FunctionType:
    """The type of a function that the module defines, attributes left out.

    Raises
    ------
    SymbolError : the module defines no function of this name; the hint gives the nearest.
    """
    return find_definition(module, name).type


def find_definition(module: Module, name: str) -> LlvmFunction:
    """The header of the definition of a name; raises SymbolError when there is none."""
    for entity in module.of_kind("define"):
        if entity.name == name:
            return read_function(module, entity)
    raise _missing(module, name)


def check_entry(module: Module, entry: str, parameters: Sequence[str], result: str) -> None:
    """The entry must be a device function of exactly this type.

    Parameters
    ----------
    parameters : LLVM types that the ports pass, as ``("i32", "ptr addrspace(1)", "float")``.
    result : LLVM type that the kernel expects back.

    Raises
    ------
    SymbolError : the entry is missing.
    AbiError : a type differs; the table compares every parameter.
    """
    function = find_definition(module, entry)
    table = tuple(_rows(function, parameters, result))
    if any(row.differs for row in table):
        raise AbiError(f"`{entry}` does not take what the kernel passes", table=table, hint=_hint(function, parameters))


def _rows(function: LlvmFunction, parameters: Sequence[str], result: str) -> Iterator[Row]:
    kind = "__global__ kernel" if function.is_kernel else "device function"
    yield Row("function", "device function", kind)
    for index, (expected, got) in enumerate(zip_longest(parameters, function.type.parameters, fillvalue="nothing")):
        yield Row(f"parameter {index + 1}", expected, got)
    yield Row("result", result, function.type.result)


def _hint(function: LlvmFunction, parameters: Sequence[str]) -> str:
    got = function.type.parameters
    if function.is_kernel:
        return "declare it __device__: a kernel cannot be called inside a kernel"
    if len(got) != len(parameters):
        return f"the signature passes {len(parameters)} values, the function takes {len(got)}"
    if any(
        wanted.startswith("ptr addrspace") and given == "ptr" for wanted, given in zip(parameters, got, strict=False)
    ):
        return "pointers from Triton are global: declare them __attribute__((address_space(1)))"
    return "change the signature or the function, so that both name the same types"


def _missing(module: Module, name: str) -> SymbolError:
    names = {demangle(entity.name): entity.name for entity in module.of_kind("define")}
    near = [shown for shown, symbol in names.items() if shown.split("(")[0].split("::")[-1] == name]
    near = near or near_names(name, [*names, *names.values()], meaning=lambda shown: names.get(shown, shown))
    mangled = any(names.get(shown, shown) != shown for shown in near)
    listed = ", ".join(list(names)[:8]) or "none"
    return SymbolError(
        f"the compiled fragment defines no function `{name}`",
        hint=("there is " + " and ".join(f"`{shown}`" for shown in near) if near else f"it defines: {listed}")
        + ('; declare it extern "C"' if mangled else ""),
    )
