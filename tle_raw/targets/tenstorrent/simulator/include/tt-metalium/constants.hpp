#pragma once
#include <cstdint>

namespace tt::constants {
inline constexpr uint32_t TILE_HEIGHT = 32, TILE_WIDTH = 32, TILE_HW = 1024, FACE_HEIGHT = 16, FACE_WIDTH = 16,
                          FACE_HW = 256;
}
