// Number formats: of elements, of tiles in memory (four faces of 16x16), and what registers keep.
#pragma once
#include <cstdint>

#include "registers.hpp"
#include "simulator/formats.h"

namespace tt_sim {
inline constexpr uint32_t side = 32, face_side = 16, face_elements = 256, tile_elements = 1024;

uint32_t tile_bytes(tt::DataFormat format);
const char* name_of(tt::DataFormat format);
bool is_integer(tt::DataFormat format);

float round_to_bf16(float value);
float round_to_fp16(float value);
float keep_bits(float value, int mantissa_bits);  // truncates
float round_to_tf32(float value);

// Where element (row, column) of a tile lies among its 1024.
constexpr uint32_t in_faces(uint32_t row, uint32_t column) {
    return (row / face_side * 2 + column / face_side) * face_elements + row % face_side * face_side +
           column % face_side;
}

// Values as numbers; integers come as their bits.
void decode_tile(tt::DataFormat format, const uint8_t* from, Tile& out);
void encode_tile(tt::DataFormat format, const Tile& values, uint8_t* to);
// One row-major element, for tilize and untilize.
float decode_element(tt::DataFormat format, const uint8_t* from);
void encode_element(tt::DataFormat format, float value, uint8_t* to);
uint32_t element_bytes(tt::DataFormat format);
}  // namespace tt_sim
