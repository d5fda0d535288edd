// Life of the destination registers, and the formats of the sources.
#include "registers.hpp"

#include <bit>

#include "failure.hpp"
#include "memory.hpp"
#include "numbers.hpp"

namespace tt_sim {
namespace {
void forget(Half& half) {
    for (DstTile& tile : half.tiles) {
        tile.bits.fill(poison);
        tile.written = false;
    }
}

void expect_format(tt::DataFormat configured, const CircularBuffer& buffer, const char* what, const char* call,
                   Site site) {
    if (configured != buffer.format)
        fail(site, text("%s: %s is set up for %s, circular buffer %u holds %s: %s is missing", call, what,
                        name_of(configured), buffer.id, name_of(buffer.format),
                        what[0] == 'p' ? "pack_reconfig_data_format" : "reconfig_data_format"));
}
}  // namespace

Compute::Compute(const ComputeOptions& chosen) : options(chosen) {
    unpack.name = "unpack";
    math.name = "math";
    pack.name = "pack";
    const uint32_t all = options.wide ? 8 : 16;
    halves.resize(options.full_sync ? 1 : 2);
    for (Half& half : halves) {
        half.tiles.resize(all / halves.size());
        forget(half);
    }
}

bool Compute::held() const {
    for (const Half& half : halves)
        if (half.state != Half::free) return true;
    return false;
}

uint32_t Compute::tiles() const { return static_cast<uint32_t>(halves[0].tiles.size()); }

float Compute::kept(float value) const {
    return options.wide ? value : half_is_fp16() ? round_to_fp16(value) : round_to_bf16(value);
}

Compute& computing(const char* call, Site site) {
    Role& role = running(call, site);
    if (!role.compute) fail(site, text("%s in a data movement kernel", call));
    return *role.compute;
}

CircularBuffer& compute_buffer(uint32_t id, const char* call, Site site) {
    if (id >= max_buffers || !current->core->buffers[id].exists())
        fail(site, text("%s: the host program made no circular buffer %u on this core", call, id));
    return current->core->buffers[id];
}

const uint8_t* front_tile(uint32_t id, uint32_t tile, const char* call, Site site) {
    const CircularBuffer& buffer = compute_buffer(id, call, site);
    if (buffer.consumer != current || tile >= buffer.waited)
        fail(site, text("%s reads tile %u of circular buffer %u; cb_wait_front waited for %u", call, tile, id,
                        buffer.consumer == current ? buffer.waited : 0));
    if (buffer.page_bytes != tile_bytes(buffer.format))
        fail(site, text("%s: pages of circular buffer %u have %u bytes, a tile of %s has %u", call, id,
                        buffer.page_bytes, name_of(buffer.format), tile_bytes(buffer.format)));
    const uint32_t slot = buffer.slot(buffer.popped) + tile;
    if (slot >= buffer.pages)
        fail(site,
             text("%s: tile %u of circular buffer %u lies behind its end (page %u of %u); counts must divide a lap",
                  call, tile, id, slot, buffer.pages));
    return current->core->l1 + buffer.address + slot * buffer.page_bytes;
}

void unpack_tile(uint32_t id, uint32_t tile, Tile& out, const char* call, Site site) {
    const uint8_t* from = front_tile(id, tile, call, site);
    const CircularBuffer& buffer = current->core->buffers[id];
    if (is_integer(buffer.format))
        fail(site, text("%s: circular buffer %u holds %s, which the matrix unit does not take: copy_tile and an SFPU "
                        "operation do",
                        call, id, name_of(buffer.format)));
    decode_tile(buffer.format, from, out);
    if (buffer.format != tt::DataFormat::Float32) return;
    if (current->compute->options.direct[id])
        fail(site, text("%s: circular buffer %u is unpacked to DST (UnpackToDestFp32), so that only copy_tile reads it",
                        call, id));
    for (float& value : out) value = round_to_tf32(value);
}

void expect_sources(uint32_t a, uint32_t b, const char* call, Site site) {
    const Compute& compute = *current->compute;
    if (!compute.started) fail(site, text("%s before compute_kernel_hw_startup", call));
    expect_format(compute.source_a, compute_buffer(a, call, site), "source A", call, site);
    expect_format(compute.source_b, compute_buffer(b, call, site), "source B", call, site);
}

void expect_source_a(uint32_t a, const char* call, Site site) {
    const Compute& compute = *current->compute;
    if (!compute.started) fail(site, text("%s before compute_kernel_hw_startup", call));
    expect_format(compute.source_a, compute_buffer(a, call, site), "source A", call, site);
}

DstTile& math_tile(uint32_t index, const char* call, Site site) {
    Compute& compute = *current->compute;
    Half& half = compute.halves[compute.math_half];
    if (half.state != Half::math) fail(site, text("%s without tile_regs_acquire", call));
    if (index >= compute.tiles())
        fail(site, text("%s: destination register %u; there are %u (%s, %s sync)", call, index, compute.tiles(),
                        compute.options.wide ? "32 bits" : "16 bits", compute.options.full_sync ? "full" : "half"));
    return half.tiles[index];
}

DstTile& written_tile(uint32_t index, const char* call, Site site) {
    DstTile& tile = math_tile(index, call, site);
    if (!tile.written)
        fail(site,
             text("%s reads destination register %u, which nothing has written since tile_regs_acquire", call, index));
    return tile;
}

void store_tile(DstTile& to, const Tile& values) {
    const Compute& compute = *current->compute;
    for (uint32_t i = 0; i < tile_elements; ++i) to.bits[i] = std::bit_cast<uint32_t>(compute.kept(values[i]));
    to.written = true;
    to.integer = to.reduced = false;
}

void load_tile(const DstTile& from, Tile& values) {
    for (uint32_t i = 0; i < tile_elements; ++i) values[i] = std::bit_cast<float>(from.bits[i]);
}

void charge(double unpacked_bytes, double math_cycles) {
    Compute& compute = *current->compute;
    compute.unpack.work(unpacked_bytes / unpack_bytes_per_cycle);
    compute.math.wait_until(compute.unpack.clock);
    compute.math.work(math_cycles);
}

void acquire(Site site) {
    Compute& compute = computing("tile_regs_acquire", site);
    Half& half = compute.halves[compute.math_half];
    if (half.state == Half::math)
        fail(site, text("tile_regs_acquire again, without tile_regs_commit since line %u", compute.acquired_at.line));
    if (half.state != Half::free)
        fail(site,
             text("tile_regs_acquire: nothing released the registers acquired at line %u", compute.acquired_at.line));
    half.state = Half::math;
    compute.acquired_at = site;
    compute.math.wait_until(half.released);
}

void commit(Site site) {
    Compute& compute = computing("tile_regs_commit", site);
    Half& half = compute.halves[compute.math_half];
    if (half.state != Half::math) fail(site, "tile_regs_commit without tile_regs_acquire");
    half.state = Half::committed;
    half.ready = compute.math.clock;
    compute.math_half = (compute.math_half + 1) % static_cast<uint32_t>(compute.halves.size());
}

void wait_for_math(Site site) {
    Compute& compute = computing("tile_regs_wait", site);
    Half& half = compute.halves[compute.pack_half];
    if (half.state != Half::committed)
        fail(site, half.state == Half::packing ? "tile_regs_wait twice" : "tile_regs_wait before tile_regs_commit");
    half.state = Half::packing;
    compute.pack.wait_until(half.ready);
}

void release(Site site) {
    Compute& compute = computing("tile_regs_release", site);
    Half& half = compute.halves[compute.pack_half];
    if (half.state != Half::packing) fail(site, "tile_regs_release without tile_regs_wait");
    half.state = Half::free;
    half.released = compute.pack.clock;
    forget(half);
    compute.pack_half = (compute.pack_half + 1) % static_cast<uint32_t>(compute.halves.size());
}
}  // namespace tt_sim
