// The words that the host fixed when it created the kernel: -DKERNEL_COMPILE_TIME_ARGS=w0,w1,...
#pragma once
#include <cstddef>
#include <cstdint>

namespace tt_sim {
#ifdef KERNEL_COMPILE_TIME_ARGS
inline constexpr uint32_t compile_time_words[] = {KERNEL_COMPILE_TIME_ARGS};
inline constexpr size_t compile_time_word_count = sizeof(compile_time_words) / 4;
#else
inline constexpr uint32_t compile_time_words[] = {0};
inline constexpr size_t compile_time_word_count = 0;
#endif
void no_such_compile_time_argument();  // not constexpr: reaching it stops the compilation
}  // namespace tt_sim

constexpr uint32_t get_compile_time_arg_val(size_t index) {
    if (index >= tt_sim::compile_time_word_count) tt_sim::no_such_compile_time_argument();
    return tt_sim::compile_time_words[index];
}
