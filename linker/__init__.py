"""LLVM modules in, one checked module out: read, check, normalise, make private, verify."""
