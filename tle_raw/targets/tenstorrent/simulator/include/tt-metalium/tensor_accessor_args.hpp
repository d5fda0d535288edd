// The words by which a kernel finds the pages of a buffer.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include <tt-metalium/distributed.hpp>

namespace tt::tt_metal {
class TensorAccessorArgs {
public:
    explicit TensorAccessorArgs(const Buffer& buffer);
    explicit TensorAccessorArgs(const Buffer* buffer) : TensorAccessorArgs(*buffer) {}
    explicit TensorAccessorArgs(const distributed::MeshBuffer& buffer) : TensorAccessorArgs(buffer.buffer()) {}
    explicit TensorAccessorArgs(const std::shared_ptr<distributed::MeshBuffer>& buffer)
        : TensorAccessorArgs(buffer->buffer()) {}
    void append_to(std::vector<uint32_t>& compile_args) const {
        compile_args.insert(compile_args.end(), words.begin(), words.end());
    }
    std::vector<uint32_t> get_compile_time_args() const { return words; }

private:
    std::vector<uint32_t> words;
};
}  // namespace tt::tt_metal
