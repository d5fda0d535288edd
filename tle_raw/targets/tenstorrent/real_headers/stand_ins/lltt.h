// Instead of the vendor's lltt.h, which comes with the SFPI compiler: what the matrix engine's headers want of it.
// All three are one Tensix instruction, REPLAY: its opcode, where to start, how many, and two bits.
#pragma once
#include <cstdint>

namespace lltt {

enum ExecBool : bool { NoExec = false, Exec = true };

constexpr std::uint32_t replay_word(std::uint32_t start, std::uint32_t length, bool execute, bool load) {
    return 0x04u << 24 | start << 14 | length << 4 | static_cast<std::uint32_t>(execute) << 1 | static_cast<std::uint32_t>(load);
}

// What is stored at this address goes to the engine's queue of instructions.
inline __attribute__((always_inline)) void issue(std::uint32_t word) {
    *reinterpret_cast<volatile std::uint32_t*>(0xFFE40000u) = word;
}

template <ExecBool execute = NoExec>
inline __attribute__((always_inline)) void record(std::uint32_t start, std::uint32_t length) {
    issue(replay_word(start, length, execute, true));
}

inline __attribute__((always_inline)) void replay(std::uint32_t start, std::uint32_t length) {
    issue(replay_word(start, length, false, false));
}

constexpr std::uint32_t replay_insn(std::uint32_t start, std::uint32_t length) {
    return replay_word(start, length, false, false);
}

}  // namespace lltt
