"""Run as a program: bitcode on standard input, LLVM IR text on standard output. A broken file may end the process.

Arguments: ``whole``; ``names``, which lists what others may call, one a line; or ``cut`` and the functions that are
wanted: they and what they reach.
"""

import sys
from typing import Any


def main() -> None:
    import llvmlite.binding as llvm

    module = llvm.parse_bitcode(sys.stdin.buffer.read())
    task, *names = sys.argv[1:]
    if task == "names":
        found = (f for f in module.functions if not f.is_declaration and f.linkage.name not in ("internal", "private"))
        print(*(f.name for f in found), sep="\n")
    else:
        if task == "cut":
            cut(llvm, module, frozenset(names))
        sys.stdout.write(str(module))


def cut(llvm: Any, module: Any, names: frozenset[str]) -> None:
    for value in (*module.functions, *filter(is_ours, module.global_variables)):
        if not value.is_declaration and value.name not in names and not value.name.startswith("llvm."):
            value.linkage = "internal"
            value.visibility = "default"
    llvm.initialize_all_targets()
    machine = llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine()
    with llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=0)) as builder:
        passes = llvm.create_new_module_pass_manager()
        passes.add_global_dead_code_eliminate_pass()
        passes.run(module, builder)


def is_ours(variable: Any) -> bool:
    """Whether no host sets it. A variable prints itself in no time; a function numbers the whole module for that."""
    return variable.linkage.name != "external" or "externally_initialized" not in str(variable)[:400].split("=", 1)[-1]


if __name__ == "__main__":
    main()
