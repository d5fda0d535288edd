// What must hold when a kernel and when a program ends.
#pragma once
#include "core.hpp"

namespace tt_sim {
void check_end_of_kernel(const Role& role);
void check_end_of_program(const Core& core);
}  // namespace tt_sim
