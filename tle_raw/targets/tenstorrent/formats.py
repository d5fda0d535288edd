"""The formats of tiles in global memory and in circular buffers."""

from __future__ import annotations

TILE_ELEMENTS = 32 * 32

# Bytes of a tile. A block float has one exponent of 8 bits for each 16 elements of a row, and 7 or 3 bits an element
# besides its sign.
TILE_BYTES = {
    "Float32": 4096,
    "Int32": 4096,
    "UInt32": 4096,
    "Float16": 2048,
    "Float16_b": 2048,
    "UInt16": 2048,
    "UInt8": 1024,
    "Bfp8_b": 64 + 1024,
    "Bfp4_b": 64 + 512,
}
BLOCK_FLOATS = {"Bfp8_b": 8, "Bfp4_b": 4}  # bits an element, with its sign

# A NumPy dtype (and bfloat16) and the format with the same bits.
SAME_BITS = {
    "float32": "Float32",
    "int32": "Int32",
    "uint32": "UInt32",
    "float16": "Float16",
    "bfloat16": "Float16_b",
    "uint16": "UInt16",
    "uint8": "UInt8",
}
DTYPE_BYTES = {"float32": 4, "int32": 4, "uint32": 4, "float16": 2, "bfloat16": 2, "uint16": 2, "uint8": 1}
