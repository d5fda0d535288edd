// A launch: lays circular buffers out in L1, makes cores and kernels, and runs them.
#include <algorithm>
#include <cstring>

#include "failure.hpp"
#include "network_address.hpp"
#include "numbers.hpp"
#include "program.hpp"
#include "scheduler.hpp"

namespace tt_sim {
namespace {
std::string indices(const BufferParts& buffer) {
    std::string names;
    for (const auto& [index, format] : buffer.formats) names += text("%s%u", names.empty() ? "" : ", ", index);
    return names;
}

std::string map_of_l1(const ProgramParts& program, uint32_t core) {
    std::string map = text("\n  %8u bytes  firmware, semaphores and kernels", chip().l1_reserved);
    for (const BufferParts& buffer : program.buffers)
        if (buffer.on[core] && !buffer.lent)
            map += text("\n  %8u bytes  circular buffer %s", buffer.bytes, indices(buffer).c_str());
    map += text("\n  %8u bytes  buffers of the host program in L1", chip().l1_bytes - memory().l1_top);
    return map;
}

// The same address on all cores of a buffer, as multicasts need it.
void lay_out(ProgramParts& program) {
    std::vector<uint32_t> next(memory().cores(), (chip().l1_reserved + l1_alignment - 1) / l1_alignment * l1_alignment);
    for (BufferParts& buffer : program.buffers) {
        if (buffer.lent) {
            buffer.address = buffer.lent->address;
            continue;
        }
        for (uint32_t core = 0; core < next.size(); ++core)
            if (buffer.on[core]) buffer.address = std::max(buffer.address, next[core]);
        for (uint32_t core = 0; core < next.size(); ++core) {
            if (!buffer.on[core]) continue;
            next[core] = (buffer.address + buffer.bytes + l1_alignment - 1) / l1_alignment * l1_alignment;
            if (next[core] > memory().l1_top)
                fail_host(text("the L1 of core (%u,%u) has %u bytes, the program wants more:", core % chip().columns,
                               core / chip().columns, chip().l1_bytes) +
                          map_of_l1(program, core));
        }
    }
}

void add_buffer(Core& core, const BufferParts& parts, uint8_t id) {
    CircularBuffer& buffer = core.buffers[id];
    if (buffer.exists()) fail_host(text("two circular buffers %u on %s", id, name_of(core).c_str()));
    buffer.id = id;
    buffer.page_bytes = parts.page_bytes.at(id);
    buffer.pages = parts.bytes / buffer.page_bytes;
    buffer.address = parts.address;
    buffer.format = parts.formats.at(id);
    buffer.borrowed = parts.lent != nullptr;
    buffer.written.resize(buffer.pages);
    buffer.push_time.resize(buffer.pages);
    buffer.pop_time.resize(buffer.pages);
    if (buffer.borrowed) return;
    auto* words = reinterpret_cast<uint32_t*>(core.l1 + buffer.address);
    std::fill(words, words + parts.bytes / 4, poison);
}

void add_kernel(Core& core, const KernelParts& parts) {
    auto role = std::make_unique<Role>();
    role->core = &core;
    role->processor = parts.processor;
    role->file = parts.file;
    role->entry = parts.compilation.entry;
    role->common_arguments = parts.common_arguments;
    if (auto found = parts.arguments.find(core.index); found != parts.arguments.end()) role->arguments = found->second;
    role->lane.name = parts.processor == Processor::reader ? "reader" : "writer";
    if (parts.processor == Processor::compute) role->compute = std::make_unique<Compute>(parts.options);
    for (const auto& other : core.roles)
        if (other->processor == role->processor)
            fail_host(text("%s has two kernels for one processor: %s and %s", name_of(core).c_str(),
                           other->file.c_str(), role->file.c_str()));
    core.roles.push_back(std::move(role));
}
}  // namespace

void launch(ProgramParts& program) {
    lay_out(program);
    for (KernelParts& kernel : program.kernels) finish_compilation(kernel);
    cores_of_program.clear();
    for (uint32_t index = 0; index < memory().cores(); ++index) {
        const auto used = [&](const auto& parts) { return parts.on[index]; };
        if (std::none_of(program.kernels.begin(), program.kernels.end(), used)) continue;
        auto core = std::make_unique<Core>();
        core->index = index;
        core->x = index % chip().columns;
        core->y = index / chip().columns;
        core->l1 = memory().l1(index);
        for (const BufferParts& buffer : program.buffers)
            if (buffer.on[index])
                for (const auto& [id, format] : buffer.formats) add_buffer(*core, buffer, id);
        for (uint32_t id = 0; id < program.semaphores.size(); ++id)
            if (program.semaphores[id].on[index]) start_semaphore(*core, id, program.semaphores[id].value);
        for (const KernelParts& kernel : program.kernels)
            if (kernel.on[index]) add_kernel(*core, kernel);
        cores_of_program.push_back(std::move(core));
    }
    if (cores_of_program.empty()) fail_host("a program without kernels");
    for (const auto& core : cores_of_program)
        core->dram_bytes_per_cycle = chip().dram_bytes_per_cycle / static_cast<double>(cores_of_program.size());
    run_all(cores_of_program);
    write_reports(cores_of_program);
}
}  // namespace tt_sim
