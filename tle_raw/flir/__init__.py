"""FLIR: the pipeline from Triton IR to LLVM IR, one pass per file. ``passes`` lists them, and is what runs."""
