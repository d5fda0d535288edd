"""LLVM textual IR: its reader, and one edit a file."""
