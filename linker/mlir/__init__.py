"""MLIR's text, as Triton prints it: operations of one line, the nesting of blocks, locations."""
