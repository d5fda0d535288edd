// How a kernel is built and where it runs.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "simulator/formats.h"

namespace tt::tt_metal {
enum class MathFidelity : uint8_t { LoFi = 0, HiFi2 = 2, HiFi3 = 3, HiFi4 = 4, Invalid = 0xFF };
enum class UnpackToDestMode : uint8_t { Default, UnpackToDestFp32 };
enum class DataMovementProcessor { RISCV_0 = 0, RISCV_1 = 1 };
enum NOC : uint8_t { RISCV_0_default = 0, RISCV_1_default = 1, NOC_0 = 0, NOC_1 = 1 };
enum NOC_MODE : uint8_t { DM_DEDICATED_NOC = 0, DM_DYNAMIC_NOC = 1 };
enum class KernelBuildOptLevel : uint8_t { O1, O2, O3, O0, Os, Ofast, Oz };

using KernelHandle = uint32_t;
using CBHandle = uint32_t;

struct DataMovementConfig {
    DataMovementProcessor processor = DataMovementProcessor::RISCV_0;
    NOC noc = NOC::RISCV_0_default;
    NOC_MODE noc_mode = NOC_MODE::DM_DEDICATED_NOC;
    std::vector<uint32_t> compile_args = {};
    std::map<std::string, std::string> defines = {};
    std::unordered_map<std::string, uint32_t> named_compile_args = {};
    KernelBuildOptLevel opt_level = KernelBuildOptLevel::O2;
};

struct ReaderDataMovementConfig : DataMovementConfig {
    ReaderDataMovementConfig(std::vector<uint32_t> words = {}, std::map<std::string, std::string> macros = {})
        : DataMovementConfig{.processor = DataMovementProcessor::RISCV_1,
                             .noc = NOC::RISCV_1_default,
                             .compile_args = std::move(words),
                             .defines = std::move(macros)} {}
};

struct WriterDataMovementConfig : DataMovementConfig {
    WriterDataMovementConfig(std::vector<uint32_t> words = {}, std::map<std::string, std::string> macros = {})
        : DataMovementConfig{.processor = DataMovementProcessor::RISCV_0,
                             .noc = NOC::RISCV_0_default,
                             .compile_args = std::move(words),
                             .defines = std::move(macros)} {}
};

struct ComputeConfig {
    MathFidelity math_fidelity = MathFidelity::HiFi4;
    bool fp32_dest_acc_en = false;
    bool dst_full_sync_en = false;
    std::vector<UnpackToDestMode> unpack_to_dest_mode = {};
    bool bfp8_pack_precise = false;
    bool math_approx_mode = false;
    std::vector<uint32_t> compile_args = {};
    std::map<std::string, std::string> defines = {};
    std::unordered_map<std::string, uint32_t> named_compile_args = {};
    KernelBuildOptLevel opt_level = KernelBuildOptLevel::O3;
};
}  // namespace tt::tt_metal

using tt::tt_metal::MathFidelity;
using tt::tt_metal::UnpackToDestMode;
