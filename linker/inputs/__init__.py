"""What the linker takes: LLVM IR, bitcode, PTX, fatbins and archives, each as a library that functions are taken of."""
