// Copies out of circular buffers into registers: as they are, transposed, or with a row, column or element repeated.
#include <bit>

#include "failure.hpp"
#include "matrix.hpp"
#include "memory.hpp"
#include "numbers.hpp"
#include "registers.hpp"

namespace tt_sim {
double page_size(uint32_t id) { return current->core->buffers[id].page_bytes; }

void broadcast_tile(BroadcastType type, Tile& tile) {
    if (type == BroadcastType::NONE) return;
    for (uint32_t row = side; row-- > 0;)
        for (uint32_t column = side; column-- > 0;) {
            const uint32_t from_row = type == BroadcastType::COL ? row : 0,
                           from_column = type == BroadcastType::ROW ? column : 0;
            tile[row * side + column] = tile[from_row * side + from_column];
        }
}

void transpose_tile_values(Tile& tile) {
    for (uint32_t row = 0; row < side; ++row)
        for (uint32_t column = 0; column < row; ++column)
            std::swap(tile[row * side + column], tile[column * side + row]);
}

void init_copy(uint32_t buffer, bool transpose, Site site) {
    compute_buffer(buffer, "copy_init", site);
    set_up("copy_init", {.kind = MatrixSetup::copy, .transposed = transpose, .site = site}, site);
}

namespace {
// Out of a circular buffer into a register, integers and directly unpacked fp32 as they are.
void move_tile(MatrixSetup::Kind kind, BroadcastType type, uint32_t buffer, uint32_t tile, uint32_t dst,
               const char* call, Site site) {
    expect_setup(call, kind, site, [&](const MatrixSetup& s) { return s.broadcast_type == type; });
    expect_source_a(buffer, call, site);
    const Compute& compute = *current->compute;
    const tt::DataFormat format = compute_buffer(buffer, call, site).format;
    const bool integer = is_integer(format), direct = compute.options.direct[buffer];
    if ((element_bytes(format) == 4 && integer && !compute.options.wide) || (direct && !compute.options.wide))
        fail(site, text("%s: circular buffer %u holds %s, and registers have 16 bits: fp32_dest_acc_en is missing",
                        call, buffer, name_of(format)));
    DstTile& out = math_tile(dst, call, site);
    Tile values;
    if (integer || direct)
        decode_tile(format, front_tile(buffer, tile, call, site), values);
    else
        unpack_tile(buffer, tile, values, call, site);
    if (compute.setup.transposed || kind == MatrixSetup::transpose) transpose_tile_values(values);
    broadcast_tile(type, values);
    if (integer) {
        for (uint32_t i = 0; i < tile_elements; ++i) out.bits[i] = std::bit_cast<uint32_t>(values[i]);
        out.written = true;
    } else {
        store_tile(out, values);
    }
    out.integer = integer;
    out.reduced = false;
    charge(page_size(buffer), eltwise_phase);
}
}  // namespace

void copy(uint32_t buffer, uint32_t tile, uint32_t dst, Site site) {
    move_tile(MatrixSetup::copy, BroadcastType::NONE, buffer, tile, dst, "copy_tile", site);
}

void init_transpose(uint32_t buffer, Site site) {
    compute_buffer(buffer, "transpose_init", site);
    set_up("transpose_init", {.kind = MatrixSetup::transpose, .site = site}, site);
}
void transpose(uint32_t buffer, uint32_t tile, uint32_t dst, Site site) {
    move_tile(MatrixSetup::transpose, BroadcastType::NONE, buffer, tile, dst, "transpose_tile", site);
}

void init_broadcast(BroadcastType type, uint32_t buffer, Site site) {
    compute_buffer(buffer, "unary_bcast_init", site);
    set_up("unary_bcast_init", {.kind = MatrixSetup::broadcast, .broadcast_type = type, .site = site}, site);
}
void broadcast(BroadcastType type, uint32_t buffer, uint32_t tile, uint32_t dst, Site site) {
    move_tile(MatrixSetup::broadcast, type, buffer, tile, dst, "unary_bcast", site);
}
}  // namespace tt_sim
