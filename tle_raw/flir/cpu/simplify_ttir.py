"""Triton's own passes over a kernel's Triton IR, to a module of plain pointers."""

from __future__ import annotations

from typing import Any

from triton._C.libtriton import ir, passes


def simplify_ttir(module: Any) -> None:
    """Simplify a module of Triton's in place: inlined, without block pointers and descriptors, canonical."""
    manager = ir.pass_manager(module.context)
    manager.enable_debug()
    passes.common.add_inliner(manager)
    # Up to 3.7 block pointers are types of their own; later ones are made of plain pointers by the language.
    if hasattr(passes.ttir, "add_rewrite_tensor_pointer"):
        passes.ttir.add_rewrite_tensor_pointer(manager)
    passes.ttir.add_rewrite_tensor_descriptor_to_pointer(manager)
    passes.common.add_canonicalizer(manager)
    passes.ttir.add_combine(manager)
    passes.ttir.add_reorder_broadcast(manager)
    passes.common.add_cse(manager)
    passes.common.add_symbol_dce(manager)
    passes.ttir.add_loop_unroll(manager)
    manager.run(module, "make_ttir")
