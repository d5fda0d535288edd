// The chips that are simulated, and what the cycle estimate is made of. Sources of the numbers:
// docs/tenstorrent-simulator.md.
#pragma once
#include <cstdint>

namespace tt_sim {
struct Chip {
    const char* name;
    uint32_t columns, rows;          // worker cores that a program may use
    uint32_t l1_bytes, l1_reserved;  // of a core; firmware, mailboxes and kernels lie in the reserved part
    uint32_t dram_banks;
    uint32_t dram_bank_bytes;
    uint32_t dram_alignment;      // of both addresses of a read from DRAM
    double dram_bytes_per_cycle;  // of all banks together
};

inline constexpr Chip wormhole{"wormhole_b0", 8, 8, 1464 * 1024, 101 * 1024, 12, 1u << 30, 32, 288};
inline constexpr Chip blackhole{"blackhole", 13, 10, 1536 * 1024, 101 * 1024, 8, (1u << 31) + (1u << 30), 64, 380};

inline constexpr uint32_t l1_alignment = 16;
inline constexpr uint32_t first_coordinate =
    18;  // of the network: logical core (0,0) is (18,18), so that a mix-up is noticed
inline constexpr uint32_t max_buffers = 32, max_semaphores = 16, semaphore_stride = 16;
inline constexpr uint32_t max_runtime_args = 341;

// Cycles.
inline constexpr double noc_bytes_per_cycle = 32, noc_issue = 40, noc_latency = 120, dram_latency = 450,
                        barrier_check = 20;
inline constexpr double buffer_call = 10;
inline constexpr double unpack_bytes_per_cycle = 64, pack_bytes_per_cycle = 64;
inline constexpr double matmul_phase = 16;  // 32x32x32 products at 2048 a cycle; HiFi4 takes four phases
inline constexpr double eltwise_phase = 8;  // 1024 elements at 128 a cycle
inline constexpr double sfpu_step = 32;     // one SFPU instruction over a tile: 1024 elements, 32 lanes
inline constexpr double reconfigure = 30, hardware_startup = 200, sfpu_init_cycles = 20;
}  // namespace tt_sim
