"""From LLVM IR for NVIDIA GPUs to the code of a fragment: the way of every dialect that ends in LLVM IR."""
