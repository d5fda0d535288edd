// What a misuse leads to: a text on the standard error, and the end of the process with status 3.
#pragma once
#include <string>

#include "simulator/site.h"

namespace tt_sim {
inline constexpr int failure_status = 3;

// Of a kernel: adds who (core and kernel) and where (file and line).
[[noreturn]] void fail(Site site, const std::string& what);
// Of the host program, in the call that it is in.
extern Site host_site;
[[noreturn]] void fail_host(const std::string& what);
// The text is whole already.
[[noreturn]] void stop_with(const std::string& report);

std::string text(const char* format, ...) __attribute__((format(printf, 1, 2)));
}  // namespace tt_sim
