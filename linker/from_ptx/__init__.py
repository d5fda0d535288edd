"""PTX functions as LLVM IR, which LLVM inlines: control flow and memory are LLVM's own, the rest stays inline PTX."""
