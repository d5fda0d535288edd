// The packer: out of destination registers into circular buffers.
#include <bit>
#include <cmath>

#include "failure.hpp"
#include "memory.hpp"
#include "numbers.hpp"
#include "registers.hpp"

namespace tt_sim {
namespace {
float after_relu(const ReluConfig& relu, float value) {
    const float threshold = std::bit_cast<float>(relu.threshold_bits << 16);
    switch (relu.mode) {
        case ReluConfig::off: return value;
        case ReluConfig::below_zero: return value > 0 || std::isnan(value) ? value : 0;
        case ReluConfig::below_threshold: return value > threshold ? value : 0;
        case ReluConfig::above_threshold: return value > 0 ? std::min(value, threshold) : 0;
    }
    return value;
}

bool under_mask(const Compute& compute, uint32_t at) {
    if (!compute.masked) return true;
    const uint32_t row = at / side, column = at % side;
    switch (compute.mask) {
        case ReduceDim::REDUCE_ROW: return column == 0;
        case ReduceDim::REDUCE_COL: return row == 0;
        case ReduceDim::REDUCE_SCALAR: break;
    }
    return row == 0 && column == 0;
}
}  // namespace

void reconfigure_pack(uint32_t buffer, Site site) {
    Compute& compute = computing("pack_reconfig_data_format", site);
    if (!compute.started) fail(site, "pack_reconfig_data_format before compute_kernel_hw_startup");
    compute.pack_format = compute_buffer(buffer, "pack_reconfig_data_format", site).format;
    compute.pack.work(reconfigure);
}

void reconfigure_pack_from(uint32_t from, uint32_t buffer, Site site) {
    const Compute& compute = computing("pack_reconfig_data_format", site);
    const tt::DataFormat told = compute_buffer(from, "pack_reconfig_data_format", site).format;
    if (told != compute.pack_format)
        fail(site, text("pack_reconfig_data_format from circular buffer %u (%s), but the packer is set up for %s", from,
                        name_of(told), name_of(compute.pack_format)));
    if (compute_buffer(buffer, "pack_reconfig_data_format", site).format != told) reconfigure_pack(buffer, site);
}

void pack_relu(const ReluConfig& config, Site site) { computing("pack_relu_config", site).relu = config; }
void pack_accumulate(bool on, Site site) { computing("pack_reconfig_l1_acc", site).accumulate_in_l1 = on; }

void pack(uint32_t tile, uint32_t id, bool in_place, uint32_t index, Site site) {
    const char* call = "pack_tile";
    Compute& compute = computing(call, site);
    CircularBuffer& buffer = compute_buffer(id, call, site);
    const Half& half = compute.halves[compute.pack_half];
    if (half.state != Half::packing)
        fail(site,
             half.state == Half::committed ? "pack_tile before tile_regs_wait" : "pack_tile before tile_regs_commit");
    if (tile >= compute.tiles())
        fail(site, text("pack_tile: destination register %u; there are %u", tile, compute.tiles()));
    const DstTile& from = half.tiles[tile];
    if (!from.written)
        fail(site, text("pack_tile(%u, %u): nothing has written destination register %u since tile_regs_acquire", tile,
                        id, tile));
    if (compute.pack_format != buffer.format)
        fail(site, text("pack_tile: the packer is set up for %s, circular buffer %u holds %s: "
                        "pack_reconfig_data_format is missing",
                        name_of(compute.pack_format), id, name_of(buffer.format)));
    if (from.integer != is_integer(buffer.format))
        fail(site, text("pack_tile: register %u holds %s, circular buffer %u %s: typecast_tile is missing", tile,
                        from.integer ? "integers" : "floats", id, name_of(buffer.format)));
    if (buffer.page_bytes != tile_bytes(buffer.format))
        fail(site, text("pack_tile: pages of circular buffer %u have %u bytes, a tile of %s has %u", id,
                        buffer.page_bytes, name_of(buffer.format), tile_bytes(buffer.format)));

    if (compute.masked && !from.reduced)
        fail(site, text("pack_tile: since reduce_init the packer keeps only a column, row or element, and register %u "
                        "is no reduction: reduce_uninit is missing",
                        tile));

    // Without an index of its own every tile goes behind the one before, until the push.
    std::lock_guard lock(current->core->mutex);
    if (!in_place) index = compute.packed[id]++;
    if (buffer.producer != current || index >= buffer.reserved)
        fail(site, text("pack_tile into page %u of circular buffer %u; cb_reserve_back reserved %u", index, id,
                        buffer.producer == current ? buffer.reserved : 0));
    const uint32_t slot = buffer.slot(buffer.pushed) + index;
    if (slot >= buffer.pages)
        fail(site,
             text("pack_tile: page %u of circular buffer %u lies behind its end; counts must divide a lap", index, id));
    uint8_t* to = current->core->l1 + buffer.address + slot * buffer.page_bytes;
    Tile values, before;
    load_tile(from, values);
    if (compute.accumulate_in_l1) decode_tile(buffer.format, to, before);
    for (uint32_t i = 0; i < tile_elements; ++i) {
        if (!under_mask(compute, i)) values[i] = 0;
        if (!from.integer) values[i] = after_relu(compute.relu, values[i]);
        if (compute.accumulate_in_l1) values[i] += before[i];
    }
    encode_tile(buffer.format, values, to);
    buffer.written[slot] = true;
    compute.pack.work(buffer.page_bytes / pack_bytes_per_cycle);
}
}  // namespace tt_sim
