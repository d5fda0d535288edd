// Who waits for whom when nothing moves any more.
#include <map>

#include "failure.hpp"
#include "scheduler.hpp"

namespace tt_sim {
namespace {
// What the kernel at the other side of a buffer does.
std::string other_side(const Role* role, const char* does, const char* done) {
    if (!role) return text("no kernel has %s the buffer yet", done);
    return text("%s, which %s the buffer, %s", role->file.c_str(), does,
                role->finished                  ? "has ended"
                : role->wait.kind == Wait::none ? "is running"
                                                : "waits too");
}

std::string describe(const Role& role) {
    const Wait& wait = role.wait;
    if (wait.kind == Wait::semaphore)
        return text("noc_semaphore_wait for the value %u%s, it is %u", wait.value, wait.at_least ? " or more" : "",
                    *wait.word);
    const CircularBuffer& buffer = *wait.buffer;
    if (wait.kind == Wait::front)
        return text("cb_wait_front(%u, %u), where %u of %u pages are there; ", buffer.id, wait.pages, buffer.filled(),
                    wait.pages) +
               other_side(buffer.producer, "fills", "filled");
    return text("cb_reserve_back(%u, %u), where %u of %u pages are free; ", buffer.id, wait.pages,
                buffer.pages - buffer.filled(), buffer.pages) +
           other_side(buffer.consumer, "empties", "waited for");
}
}  // namespace

std::string deadlock_report(const std::vector<Role*>& roles) {
    constexpr int most = 6;
    std::string report = "simulation stopped: deadlock, every kernel that has not ended waits:";
    std::map<std::string, int> same;
    int shown = 0, left_out = 0;
    for (const Role* role : roles) {
        if (role->finished) continue;
        const std::string line = role->file + " waits in " + describe(*role) +
                                 text("\n    at %s:%u", role->wait.site.file, role->wait.site.line);
        if (same[line]++ > 0 || shown >= most) {
            ++left_out;
            continue;
        }
        ++shown;
        report += "\n  " + name_of(*role->core) + " " + line;
    }
    if (left_out) report += text("\n  and %d more on other cores, which wait alike or follow from these", left_out);
    return report;
}
}  // namespace tt_sim
