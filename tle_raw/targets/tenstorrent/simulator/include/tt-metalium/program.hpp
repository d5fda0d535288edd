// A program: kernels, circular buffers, semaphores and arguments.
#pragma once
#include <memory>

namespace tt_sim {
struct ProgramParts;
}
namespace tt::tt_metal {
class Program {
public:
    Program();
    ~Program();
    Program(Program&&) noexcept;
    Program& operator=(Program&&) noexcept;
    tt_sim::ProgramParts& parts() const { return *inside; }

private:
    std::unique_ptr<tt_sim::ProgramParts> inside;
};
}  // namespace tt::tt_metal
