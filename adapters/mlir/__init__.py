"""The MLIR dialect: modules of any binding, MLIR text, and functions written in Python."""
