// The compute side of a core: source formats, destination registers, packer, and what each was set up for.
#pragma once
#include <array>
#include <vector>

#include "core.hpp"
#include "simulator/compute_calls.h"

namespace tt_sim {
using Tile = std::array<float, 1024>;  // row-major

// What the matrix unit and the unpackers were last set up for.
struct MatrixSetup {
    enum Kind { nothing, matmul, eltwise, reuse, copy, transpose, broadcast, reduce, tilize, untilize } kind = nothing;
    EltwiseBinaryType operation{};
    BroadcastType broadcast_type{};
    EltwiseBinaryReuseDestType reuse_type{};
    PoolType pool{};
    ReduceDim dim{};
    bool transposed = false, accumulate = false;
    uint32_t columns = 1, rows = 1, depth = 1, block = 1;
    Site site;
};

struct Half {
    enum State { free, math, committed, packing } state = free;
    std::vector<DstTile> tiles;
    double ready = 0, released = 0;  // cycles
};

struct ComputeOptions {
    Fidelity fidelity = Fidelity::HiFi4;
    bool wide = false;  // fp32_dest_acc_en
    bool full_sync = false;
    bool approximate = false;
    std::array<bool, max_buffers> direct{};  // UnpackToDestFp32
};

struct Compute {
    explicit Compute(const ComputeOptions& options);

    ComputeOptions options;
    Lane unpack, math, pack;
    std::vector<Half> halves;
    uint32_t math_half = 0, pack_half = 0;
    Site acquired_at;
    bool started = false;
    tt::DataFormat source_a = tt::DataFormat::Invalid, source_b = tt::DataFormat::Invalid,
                   pack_format = tt::DataFormat::Invalid;
    MatrixSetup setup;
    SfpuInit sfpu = SfpuInit::none;
    ReluConfig relu;
    bool accumulate_in_l1 = false;
    bool masked = false;  // the packer, since reduce_init
    ReduceDim mask{};
    std::array<uint32_t, max_buffers> packed{};  // tiles since the last push

    bool held() const;
    uint32_t tiles() const;  // of a half
    // In which format a result is kept, which depends on what it came from.
    bool half_is_fp16() const {
        return source_a == tt::DataFormat::Float16 || source_a == tt::DataFormat::Bfp8 ||
               source_a == tt::DataFormat::Bfp4;
    }
    float kept(float value) const;
};

Compute& computing(const char* call, Site site);
CircularBuffer& compute_buffer(uint32_t id, const char* call, Site site);
// A tile that a kernel may read: within what it waited for.
const uint8_t* front_tile(uint32_t id, uint32_t tile, const char* call, Site site);
// As the source registers hold it.
void unpack_tile(uint32_t id, uint32_t tile, Tile& out, const char* call, Site site);
void expect_sources(uint32_t a, uint32_t b, const char* call, Site site);
void expect_source_a(uint32_t a, const char* call, Site site);
// To write: the tile is in the half that math holds.
DstTile& math_tile(uint32_t index, const char* call, Site site);
// To read: it was written since the half was acquired.
DstTile& written_tile(uint32_t index, const char* call, Site site);
void store_tile(DstTile& to, const Tile& values);
void load_tile(const DstTile& from, Tile& values);
// An init call of the matrix unit.
Compute& set_up(const char* call, MatrixSetup setup, Site site);
void charge(double unpacked_bytes, double math_cycles);
}  // namespace tt_sim
