// Calls of the host program: kernels, circular buffers, semaphores, arguments.
#pragma once
#include <array>
#include <initializer_list>
#include <string>
#include <variant>
#include <vector>

#include <tt-metalium/circular_buffer_config.hpp>
#include <tt-metalium/core_coord.hpp>
#include <tt-metalium/distributed.hpp>
#include <tt-metalium/kernel_types.hpp>
#include <tt-metalium/program.hpp>

#include "simulator/site.h"

namespace tt::tt_metal {
using CoreSpec = std::variant<CoreCoord, CoreRange, CoreRangeSet>;

inline Program CreateProgram() { return Program(); }
KernelHandle CreateKernel(Program& program, const std::string& file_name, const CoreSpec& core_spec,
                          const std::variant<DataMovementConfig, ComputeConfig>& config, TT_SIM_SITE);
CBHandle CreateCircularBuffer(Program& program, const CoreSpec& core_spec, const CircularBufferConfig& config,
                              TT_SIM_SITE);
uint32_t CreateSemaphore(Program& program, const std::variant<CoreRange, CoreRangeSet>& core_spec,
                         uint32_t initial_value, TT_SIM_SITE);

void SetRuntimeArgs(const Program& program, KernelHandle kernel, const CoreSpec& core_spec,
                    const std::vector<uint32_t>& arguments, TT_SIM_SITE);
void SetRuntimeArgs(const Program& program, KernelHandle kernel, const CoreSpec& core_spec,
                    std::initializer_list<uint32_t> arguments, TT_SIM_SITE);
void SetCommonRuntimeArgs(const Program& program, KernelHandle kernel, const std::vector<uint32_t>& arguments,
                          TT_SIM_SITE);

using distributed::MeshDevice;
inline bool CloseDevice(MeshDevice* device) { return device->close(); }
}  // namespace tt::tt_metal

namespace tt_sim {
// Which release's spelling the kernels of this program have.
int use_release(Release release);
#ifdef TT_SIM_RELEASE
inline const int used_release = use_release(static_cast<Release>(TT_SIM_RELEASE));
#endif
}  // namespace tt_sim
