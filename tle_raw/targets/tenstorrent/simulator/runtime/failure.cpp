#include "failure.hpp"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <mutex>

#include "core.hpp"

namespace tt_sim {
thread_local Role* current = nullptr;
Site host_site;

void stop_with(const std::string& report) {
    // Held for ever: the first failure is told, and nobody else's.
    static std::mutex first;
    first.lock();
    std::fflush(stdout);
    std::fprintf(stderr, "%s\n", report.c_str());
    std::fflush(stderr);
    _exit(failure_status);
}

void fail(Site site, const std::string& what) {
    std::string who = current ? name_of(*current) + ": " : "";
    stop_with(text("simulation stopped: %s%s\n  at %s:%u", who.c_str(), what.c_str(), site.file, site.line));
}

void fail_host(const std::string& what) {
    const std::string where = host_site.line ? text("\n  at %s:%u", host_site.file, host_site.line) : "";
    stop_with("simulation stopped: host program: " + what + where);
}

std::string text(const char* format, ...) {
    va_list list;
    va_start(list, format);
    char* written = nullptr;
    const int length = vasprintf(&written, format, list);
    va_end(list);
    std::string result(length < 0 ? "" : written, length < 0 ? 0 : static_cast<size_t>(length));
    std::free(written);
    return result;
}

std::string name_of(const Core& core) { return text("core (%u,%u)", core.x, core.y); }
std::string name_of(const Role& role) { return name_of(*role.core) + " " + role.file; }

Role& running(const char* call, Site site) {
    if (!current) fail(site, text("%s outside of a kernel", call));
    return *current;
}
}  // namespace tt_sim
