// Formats of circular buffers, and how many bytes a tile of each has.
#pragma once
#include "simulator/formats.h"

namespace tt_sim {
uint32_t tile_bytes(tt::DataFormat format);
}
namespace tt {
inline uint32_t tile_size(DataFormat format) { return tt_sim::tile_bytes(format); }
}  // namespace tt
