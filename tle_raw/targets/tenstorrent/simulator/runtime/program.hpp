// What the host program collects before a launch.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core.hpp"
#include "memory.hpp"
#include "registers.hpp"

namespace tt_sim {
// A compilation of a kernel that runs beside the host program.
struct Compilation {
    std::string folder, library;
    int process = 0;
    void (*entry)() = nullptr;
};

struct KernelParts {
    std::string path, file;
    Processor processor = Processor::reader;
    ComputeOptions options;
    Compilation compilation;
    std::vector<bool> on;                                 // by index of the core
    std::map<uint32_t, std::vector<uint32_t>> arguments;  // by index of the core
    std::vector<uint32_t> common_arguments;
};

struct BufferParts {
    uint32_t bytes = 0, address = 0;
    std::map<uint8_t, tt::DataFormat> formats;
    std::map<uint8_t, uint32_t> page_bytes;
    const DeviceBuffer* lent = nullptr;
    std::vector<bool> on;
};

struct SemaphoreParts {
    uint32_t value = 0;
    std::vector<bool> on;
};

struct ProgramParts {
    std::vector<KernelParts> kernels;
    std::vector<BufferParts> buffers;
    std::vector<SemaphoreParts> semaphores;
};

// In kernel_files.cpp.
Compilation start_compilation(const std::string& path, const std::vector<std::string>& macros);
void finish_compilation(KernelParts& kernel);
Release used_release();

void launch(ProgramParts& program);  // launch.cpp
void start_semaphore(Core& core, uint32_t id, uint32_t value);
void write_reports(const std::vector<std::unique_ptr<Core>>& cores);  // timeline.cpp
}  // namespace tt_sim
