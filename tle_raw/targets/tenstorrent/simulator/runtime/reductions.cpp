// Sums and maxima over the rows, the columns or all of a tile, and tiles from and to row-major memory.
#include <bit>
#include <cmath>
#include <limits>

#include "failure.hpp"
#include "memory.hpp"
#include "numbers.hpp"
#include "registers.hpp"

namespace tt_sim {
namespace {
void expect(const char* call, bool set, Site site) {
    if (!set)
        fail(site, text("%s, but the last init call (line %u) set up something else", call,
                        current->compute->setup.site.line));
}

// The scaler's row 0 of the face that the element lies in.
float scale(const Tile& scaler, uint32_t row, uint32_t column, bool along_row) {
    const uint32_t face_row = row / face_side * face_side, face_column = column / face_side * face_side;
    return scaler[face_row * side + face_column + (along_row ? column % face_side : row % face_side)];
}

struct Reduction {
    PoolType pool;
    float start() const { return pool == PoolType::MAX ? -std::numeric_limits<float>::infinity() : 0; }
    float join(float a, float b) const {
        return pool == PoolType::MAX
                   ? (std::isnan(a) || std::isnan(b) ? std::numeric_limits<float>::quiet_NaN() : std::max(a, b))
                   : a + b;
    }
};
}  // namespace

void init_reduce(PoolType pool, ReduceDim dim, uint32_t in, uint32_t scaler, Site site) {
    compute_buffer(in, "reduce_init", site);
    compute_buffer(scaler, "reduce_init", site);
    Compute& compute =
        set_up("reduce_init", {.kind = MatrixSetup::reduce, .pool = pool, .dim = dim, .site = site}, site);
    compute.masked = true;
    compute.mask = dim;
}

void uninit_reduce(Site site) { computing("reduce_uninit", site).masked = false; }

void reduce(PoolType pool, ReduceDim dim, uint32_t in, uint32_t scaler, uint32_t tile, uint32_t scaler_tile,
            uint32_t dst, Site site) {
    const char* call = "reduce_tile";
    const MatrixSetup& setup = computing(call, site).setup;
    expect(call, setup.kind == MatrixSetup::reduce && setup.pool == pool && setup.dim == dim, site);
    const bool swapped = dim == ReduceDim::REDUCE_ROW && pool != PoolType::MAX;
    expect_sources(swapped ? scaler : in, swapped ? in : scaler, call, site);
    DstTile& out = math_tile(dst, call, site);
    Tile values, scalers, result;
    unpack_tile(in, tile, values, call, site);
    unpack_tile(scaler, scaler_tile, scalers, call, site);
    const Reduction reduction{pool};
    const bool rows = dim == ReduceDim::REDUCE_ROW, columns = dim == ReduceDim::REDUCE_COL;
    Tile joined;
    joined.fill(reduction.start());
    for (uint32_t row = 0; row < side; ++row)
        for (uint32_t column = 0; column < side; ++column) {
            float value = values[row * side + column] * scale(scalers, row, column, rows);
            if (!rows && !columns) value *= scale(scalers, 0, column, true);
            float& to = joined[rows ? row * side : columns ? column : 0];
            to = reduction.join(to, value);
        }
    // Only the first column, row or element is a result.
    if (out.written)
        load_tile(out, result);
    else
        result.fill(std::bit_cast<float>(poison));
    for (uint32_t i = 0; i < tile_elements; ++i) {
        const bool kept = rows ? i % side == 0 : columns ? i < side : i == 0;
        if (kept) result[i] = out.written ? reduction.join(result[i], joined[i]) : joined[i];
    }
    store_tile(out, result);
    out.reduced = true;
    charge(current->core->buffers[in].page_bytes + current->core->buffers[scaler].page_bytes, eltwise_phase * 8);
}

void init_tilize(uint32_t in, uint32_t block, uint32_t out, Site site) {
    compute_buffer(in, "tilize_init", site);
    compute_buffer(out, "tilize_init", site);
    set_up("tilize_init", {.kind = MatrixSetup::tilize, .block = block, .site = site}, site);
}
void uninit_tilize(Site site) { computing("tilize_uninit", site).setup = {}; }
void init_untilize(uint32_t in, Site site) {
    compute_buffer(in, "untilize_init", site);
    set_up("untilize_init", {.kind = MatrixSetup::untilize, .site = site}, site);
}
void uninit_untilize(Site site) { computing("untilize_uninit", site).setup = {}; }

namespace {
// `tiles` side by side, one end row-major (32 rows of the whole block), the other in tiles.
void convert(uint32_t in, uint32_t tiles, uint32_t out, bool to_tiles, const char* call, Site site) {
    Compute& compute = computing(call, site);
    if (compute.held()) fail(site, text("%s while destination registers are held: it takes them itself", call));
    expect_source_a(in, call, site);
    const CircularBuffer& to = compute_buffer(out, call, site);
    const tt::DataFormat from_format = compute_buffer(in, call, site).format;
    if (compute.pack_format != to.format)
        fail(site, text("%s: the packer is set up for %s, circular buffer %u holds %s", call,
                        name_of(compute.pack_format), out, name_of(to.format)));
    if (!element_bytes(to_tiles ? from_format : to.format))
        fail(site, text("%s: the row-major side is in blocks of numbers", call));
    std::vector<float> rows(size_t{tiles} * tile_elements);
    std::vector<const uint8_t*> sources;
    for (uint32_t tile = 0; tile < tiles; ++tile) sources.push_back(front_tile(in, tile, call, site));
    const uint32_t width = tiles * side;
    for (uint32_t tile = 0; tile < tiles; ++tile) {
        if (to_tiles) {
            for (uint32_t i = 0; i < tile_elements; ++i)
                rows[tile * tile_elements + i] = decode_element(
                    from_format, sources[0] + size_t{tile * tile_elements + i} * element_bytes(from_format));
        } else {
            Tile values;
            decode_tile(from_format, sources[tile], values);
            for (uint32_t i = 0; i < tile_elements; ++i) rows[i / side * width + tile * side + i % side] = values[i];
        }
    }
    std::lock_guard lock(current->core->mutex);
    if (to.producer != current || to.reserved < tiles || to.slot(to.pushed) + tiles > to.pages)
        fail(site, text("%s: cb_reserve_back reserved %u pages of circular buffer %u, %u are written", call,
                        to.reserved, out, tiles));
    uint8_t* target = current->core->l1 + to.address + to.slot(to.pushed) * to.page_bytes;
    for (uint32_t tile = 0; tile < tiles; ++tile) {
        Tile values;
        for (uint32_t i = 0; i < tile_elements; ++i)
            values[i] =
                compute.kept(rows[to_tiles ? i / side * width + tile * side + i % side : tile * tile_elements + i]);
        if (to_tiles)
            encode_tile(to.format, values, target + tile * to.page_bytes);
        else
            for (uint32_t i = 0; i < tile_elements; ++i)
                encode_element(to.format, values[i],
                               target + size_t{tile * tile_elements + i} * element_bytes(to.format));
        current->core->buffers[out].written[to.slot(to.pushed) + tile] = true;
    }
    charge(tiles * current->core->buffers[in].page_bytes, tiles * eltwise_phase);
    compute.pack.wait_until(compute.math.clock);
    compute.pack.work(tiles * to.page_bytes / pack_bytes_per_cycle);
}
}  // namespace

void tilize(uint32_t in, uint32_t block, uint32_t out, Site site) {
    const MatrixSetup& setup = computing("tilize_block", site).setup;
    expect("tilize_block", setup.kind == MatrixSetup::tilize && setup.block == block, site);
    convert(in, block, out, true, "tilize_block", site);
}

void untilize(uint32_t in, uint32_t width, uint32_t out, Site site) {
    expect("untilize_block", computing("untilize_block", site).setup.kind == MatrixSetup::untilize, site);
    convert(in, width, out, false, "untilize_block", site);
}
}  // namespace tt_sim
