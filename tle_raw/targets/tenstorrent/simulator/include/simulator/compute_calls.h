// What the headers in api/compute/ are made of.
#pragma once
#include "simulator/formats.h"
#include "simulator/sfpu_operations.h"
#include "simulator/site.h"

namespace ckernel {
enum class SrcOrder : uint8_t { Regular = 0, Reverse = 1 };
enum class PoolType : uint8_t { SUM, AVG, MAX };
enum class ReduceDim : uint8_t { REDUCE_ROW, REDUCE_COL, REDUCE_SCALAR };
enum class EltwiseBinaryType : uint8_t { ELWMUL, ELWADD, ELWSUB };
enum class EltwiseBinaryReuseDestType : uint8_t { NONE, DEST_TO_SRCA, DEST_TO_SRCB };
enum class BroadcastType : uint8_t { NONE, COL, ROW, SCALAR };
enum class VectorMode : int { None = 0, R = 1, C = 2, RC = 4, RC_custom = 6, Invalid = 0xFF };

// What the packer does below zero, or above a threshold (bits of a bf16).
struct ReluConfig {
    enum Mode : uint8_t { off, below_zero, below_threshold, above_threshold } mode = off;
    uint32_t threshold_bits = 0;
    static constexpr ReluConfig none() { return {}; }
    static constexpr ReluConfig zero() { return {below_zero, 0}; }
    static constexpr ReluConfig min_threshold(uint32_t bits) { return {below_threshold, bits}; }
    static constexpr ReluConfig max_threshold(uint32_t bits) { return {above_threshold, bits}; }
};
}  // namespace ckernel

namespace tt_sim {
using namespace ckernel;

void start_hardware(uint32_t source_a, uint32_t source_b, uint32_t out, bool again_allowed, Site site);
void reconfigure_source(bool b, uint32_t buffer, Site site);
void reconfigure_source_from(bool b, uint32_t from, uint32_t buffer, Site site);
void reconfigure_pack(uint32_t buffer, Site site);
void reconfigure_pack_from(uint32_t from, uint32_t buffer, Site site);

void acquire(Site site);
void commit(Site site);
void wait_for_math(Site site);
void release(Site site);

void pack(uint32_t tile, uint32_t buffer, bool in_place, uint32_t index, Site site);
void pack_relu(const ReluConfig& config, Site site);
void pack_accumulate(bool on, Site site);

void init_matmul(uint32_t in0, uint32_t in1, bool transpose, uint32_t columns, uint32_t rows, uint32_t depth,
                 Site site);
void matmul(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t dst, Site site);
void matmul_block(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t dst, bool transpose,
                  uint32_t columns, uint32_t rows, uint32_t depth, Site site);

void init_eltwise(EltwiseBinaryType operation, BroadcastType broadcast, uint32_t a, uint32_t b, bool accumulate,
                  Site site);
void eltwise(EltwiseBinaryType operation, BroadcastType broadcast, uint32_t a, uint32_t b, uint32_t tile_a,
             uint32_t tile_b, uint32_t dst, Site site);
void init_reuse(EltwiseBinaryType operation, EltwiseBinaryReuseDestType reuse, uint32_t buffer, Site site);
void reuse(EltwiseBinaryType operation, EltwiseBinaryReuseDestType reuse, uint32_t buffer, uint32_t tile, uint32_t dst,
           Site site);

void init_copy(uint32_t buffer, bool transpose, Site site);
void copy(uint32_t buffer, uint32_t tile, uint32_t dst, Site site);
void init_transpose(uint32_t buffer, Site site);
void transpose(uint32_t buffer, uint32_t tile, uint32_t dst, Site site);
void init_broadcast(BroadcastType broadcast, uint32_t buffer, Site site);
void broadcast(BroadcastType broadcast, uint32_t buffer, uint32_t tile, uint32_t dst, Site site);

void init_reduce(PoolType pool, ReduceDim dim, uint32_t in, uint32_t scaler, Site site);
void reduce(PoolType pool, ReduceDim dim, uint32_t in, uint32_t scaler, uint32_t tile, uint32_t scaler_tile,
            uint32_t dst, Site site);
void uninit_reduce(Site site);

void init_tilize(uint32_t in, uint32_t block, uint32_t out, Site site);
void tilize(uint32_t in, uint32_t block, uint32_t out, Site site);
void uninit_tilize(Site site);
void init_untilize(uint32_t in, Site site);
void untilize(uint32_t in, uint32_t width, uint32_t out, Site site);
void uninit_untilize(Site site);

void sfpu_init(SfpuInit init, Site site);
struct SfpuArguments {
    uint32_t words[3] = {};
    VectorMode mode = VectorMode::RC;
};
void sfpu(Sfpu operation, SfpuInit init, uint32_t dst, SfpuArguments arguments, Site site);
void sfpu_binary(Sfpu operation, SfpuInit init, uint32_t left, uint32_t right, uint32_t out, Site site);
void sfpu_ternary(Sfpu operation, SfpuInit init, uint32_t first, uint32_t second, uint32_t third, uint32_t out,
                  Site site);
void typecast(tt::DataFormat from, tt::DataFormat to, uint32_t dst, Site site);
}  // namespace tt_sim
