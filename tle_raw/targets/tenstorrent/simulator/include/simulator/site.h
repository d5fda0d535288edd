// Where a kernel called the simulator: every call carries it as a last, defaulted argument.
#pragma once
#include <cstdint>

namespace tt_sim {
struct Site {
    const char* file = "";
    unsigned line = 0;
    static constexpr Site here(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
        return {file, line};
    }
};
}  // namespace tt_sim

// The last parameter of every call.
#define TT_SIM_SITE tt_sim::Site site = tt_sim::Site::here()
