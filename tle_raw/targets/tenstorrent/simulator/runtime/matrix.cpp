// The matrix unit: products and elementwise operations.
#include <bit>
#include <cmath>
#include <limits>

#include "failure.hpp"
#include "matrix.hpp"
#include "memory.hpp"
#include "numbers.hpp"
#include "registers.hpp"

namespace tt_sim {
const char* operation_name(MatrixSetup::Kind kind) {
    static const char* const names[] = {"no operation",
                                        "matmul",
                                        "an elementwise operation",
                                        "an operation that reuses DST",
                                        "copy_tile",
                                        "transpose",
                                        "unary_bcast",
                                        "reduce",
                                        "tilize",
                                        "untilize"};
    return names[kind];
}

namespace {
int phases() {
    switch (current->compute->options.fidelity) {
        case Fidelity::LoFi: return 1;
        case Fidelity::HiFi2: return 2;
        case Fidelity::HiFi3: return 3;
        case Fidelity::HiFi4: break;
    }
    return 4;
}

// What of the significands the multipliers see: source A keeps 5 bits and B 7 in the first phase; the later ones add
// the rest.
float multiplied_a(float value) {
    return current->compute->options.fidelity == Fidelity::LoFi ? keep_bits(value, 4) : value;
}
float multiplied_b(float value) {
    const Fidelity fidelity = current->compute->options.fidelity;
    return fidelity == Fidelity::LoFi || fidelity == Fidelity::HiFi2 ? keep_bits(value, 6) : value;
}

// Adds a product to a register tile: sums of 16 products in fp32, each sum rounded to what the register keeps.
void add_product(const Tile& left, const Tile& right, DstTile& to) {
    const Compute& compute = *current->compute;
    Tile sum;
    if (to.written)
        load_tile(to, sum);
    else
        sum.fill(0);
    for (uint32_t step = 0; step < side; step += face_side)
        for (uint32_t row = 0; row < side; ++row) {
            float part[side] = {};
            for (uint32_t k = step; k < step + face_side; ++k)
                for (uint32_t column = 0; column < side; ++column)
                    part[column] += left[row * side + k] * right[k * side + column];
            for (uint32_t column = 0; column < side; ++column)
                sum[row * side + column] = compute.kept(sum[row * side + column] + part[column]);
        }
    store_tile(to, sum);
}

void load_factors(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, bool transposed, Tile& left, Tile& right,
                  const char* call, Site site) {
    unpack_tile(in0, tile0, left, call, site);
    unpack_tile(in1, tile1, right, call, site);
    if (transposed) transpose_tile_values(right);
    for (float& value : left) value = multiplied_b(value);
    for (float& value : right) value = multiplied_a(value);
}

void apply(EltwiseBinaryType operation, const Tile& a, const Tile& b, bool accumulate, DstTile& to) {
    Tile out;
    if (accumulate && to.written)
        load_tile(to, out);
    else
        out.fill(0);
    for (uint32_t i = 0; i < tile_elements; ++i) {
        const float result = operation == EltwiseBinaryType::ELWADD   ? a[i] + b[i]
                             : operation == EltwiseBinaryType::ELWSUB ? a[i] - b[i]
                                                                      : multiplied_a(a[i]) * multiplied_b(b[i]);
        out[i] = accumulate && to.written ? out[i] + result : result;
    }
    store_tile(to, out);
}

double eltwise_cycles(EltwiseBinaryType operation) {
    return eltwise_phase * (operation == EltwiseBinaryType::ELWMUL ? phases() : 1);
}
}  // namespace

Compute& set_up(const char* call, MatrixSetup setup, Site site) {
    Compute& compute = computing(call, site);
    if (!compute.started) fail(site, text("%s before compute_kernel_hw_startup", call));
    compute.setup = setup;
    compute.setup.site = site;
    compute.unpack.work(reconfigure);
    compute.math.work(reconfigure);
    return compute;
}

void start_hardware(uint32_t a, uint32_t b, uint32_t out, bool again_allowed, Site site) {
    Compute& compute = computing("compute_kernel_hw_startup", site);
    const char* call = "compute_kernel_hw_startup";
    if (compute.started && !again_allowed)
        fail(site,
             "compute_kernel_hw_startup again: it writes registers that are in use; reconfig_data_format and an init "
             "call change what a kernel does");
    if (compute.held()) fail(site, "compute_kernel_hw_startup while destination registers are held");
    compute.started = true;
    compute.source_a = compute_buffer(a, call, site).format;
    compute.source_b = compute_buffer(b, call, site).format;
    compute.pack_format = compute_buffer(out, call, site).format;
    compute.setup = {};
    for (Lane* lane : {&compute.unpack, &compute.math, &compute.pack}) lane->work(hardware_startup);
}

void reconfigure_source(bool b, uint32_t buffer, Site site) {
    Compute& compute = computing("reconfig_data_format", site);
    if (!compute.started) fail(site, "reconfig_data_format before compute_kernel_hw_startup");
    (b ? compute.source_b : compute.source_a) = compute_buffer(buffer, "reconfig_data_format", site).format;
    compute.unpack.work(reconfigure);
    compute.math.work(reconfigure);
}

void reconfigure_source_from(bool b, uint32_t from, uint32_t buffer, Site site) {
    const Compute& compute = computing("reconfig_data_format", site);
    const tt::DataFormat told = compute_buffer(from, "reconfig_data_format", site).format,
                         held = b ? compute.source_b : compute.source_a;
    if (told != held)
        fail(site, text("reconfig_data_format from circular buffer %u (%s), but source %s is set up for %s", from,
                        name_of(told), b ? "B" : "A", name_of(held)));
    if (compute_buffer(buffer, "reconfig_data_format", site).format != told) reconfigure_source(b, buffer, site);
}

void init_matmul(uint32_t in0, uint32_t in1, bool transpose, uint32_t columns, uint32_t rows, uint32_t depth,
                 Site site) {
    compute_buffer(in0, "matmul_init", site);
    compute_buffer(in1, "matmul_init", site);
    set_up("matmul_init",
           {.kind = MatrixSetup::matmul,
            .transposed = transpose,
            .columns = columns,
            .rows = rows,
            .depth = depth,
            .site = site},
           site);
}

void matmul(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t dst, Site site) {
    expect_setup("matmul_tiles", MatrixSetup::matmul, site,
                 [](const MatrixSetup& s) { return s.columns == 1 && s.rows == 1; });
    expect_sources(in1, in0, "matmul_tiles", site);
    DstTile& out = math_tile(dst, "matmul_tiles", site);
    Tile left, right;
    load_factors(in0, in1, tile0, tile1, current->compute->setup.transposed, left, right, "matmul_tiles", site);
    add_product(left, right, out);
    charge(page_size(in0) + page_size(in1), matmul_phase * phases());
}

void matmul_block(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t dst, bool transposed,
                  uint32_t columns, uint32_t rows, uint32_t depth, Site site) {
    expect_setup("matmul_block", MatrixSetup::matmul, site, [&](const MatrixSetup& s) {
        return s.columns == columns && s.rows == rows && s.depth == depth && s.transposed == transposed;
    });
    expect_sources(in1, in0, "matmul_block", site);
    Tile left, right;
    for (uint32_t row = 0; row < rows; ++row)
        for (uint32_t column = 0; column < columns; ++column) {
            load_factors(in0, in1, tile0 + row * depth, tile1 + column, transposed, left, right, "matmul_block", site);
            add_product(left, right, math_tile(dst + row * columns + column, "matmul_block", site));
        }
    charge(rows * page_size(in0) + columns * page_size(in1), matmul_phase * phases() * rows * columns);
}

void init_eltwise(EltwiseBinaryType operation, BroadcastType broadcast, uint32_t a, uint32_t b, bool accumulate,
                  Site site) {
    compute_buffer(a, "an elementwise init", site);
    compute_buffer(b, "an elementwise init", site);
    set_up("an elementwise init",
           {.kind = MatrixSetup::eltwise,
            .operation = operation,
            .broadcast_type = broadcast,
            .accumulate = accumulate,
            .site = site},
           site);
}

void eltwise(EltwiseBinaryType operation, BroadcastType type, uint32_t a, uint32_t b, uint32_t tile_a, uint32_t tile_b,
             uint32_t dst, Site site) {
    static const char* const calls[] = {"mul_tiles", "add_tiles", "sub_tiles"};
    const char* call = calls[static_cast<int>(operation)];
    expect_setup(call, MatrixSetup::eltwise, site,
                 [&](const MatrixSetup& s) { return s.operation == operation && s.broadcast_type == type; });
    expect_sources(a, b, call, site);
    DstTile& out = math_tile(dst, call, site);
    const bool accumulate = current->compute->setup.accumulate;
    if (operation == EltwiseBinaryType::ELWMUL && out.written && !accumulate)
        fail(site, text("mul_tiles into destination register %u, which holds a result: products are added to it on "
                        "this hardware; take another register, or say so in mul_init",
                        dst));
    Tile left, right;
    unpack_tile(a, tile_a, left, call, site);
    unpack_tile(b, tile_b, right, call, site);
    broadcast_tile(type, right);
    apply(operation, left, right, accumulate, out);
    charge(page_size(a) + page_size(b), eltwise_cycles(operation));
}

void init_reuse(EltwiseBinaryType operation, EltwiseBinaryReuseDestType type, uint32_t buffer, Site site) {
    compute_buffer(buffer, "binary_dest_reuse_tiles_init", site);
    set_up("binary_dest_reuse_tiles_init",
           {.kind = MatrixSetup::reuse, .operation = operation, .reuse_type = type, .site = site}, site);
}

void reuse(EltwiseBinaryType operation, EltwiseBinaryReuseDestType type, uint32_t buffer, uint32_t tile, uint32_t dst,
           Site site) {
    const char* call = "binary_dest_reuse_tiles";
    expect_setup(call, MatrixSetup::reuse, site,
                 [&](const MatrixSetup& s) { return s.operation == operation && s.reuse_type == type; });
    const bool dst_is_a = type == EltwiseBinaryReuseDestType::DEST_TO_SRCA;
    const Compute& compute = *current->compute;
    const tt::DataFormat expected = dst_is_a ? compute.source_b : compute.source_a;
    if (compute_buffer(buffer, call, site).format != expected)
        fail(site,
             text("%s: source %s is set up for %s, circular buffer %u holds %s: reconfig_data_format is missing", call,
                  dst_is_a ? "B" : "A", name_of(expected), buffer, name_of(compute_buffer(buffer, call, site).format)));
    DstTile& out = written_tile(dst, call, site);
    Tile held, other;
    load_tile(out, held);
    for (float& value : held) value = round_to_tf32(value);
    unpack_tile(buffer, tile, other, call, site);
    apply(operation, dst_is_a ? held : other, dst_is_a ? other : held, false, out);
    charge(page_size(buffer), eltwise_cycles(operation) + eltwise_phase);
}
}  // namespace tt_sim
