// Runs one compute kernel over whole tiles on core (0,0), or a kernel of the caller's in place of any of the three.
// usage: main KEY=VALUE..., in order:
//   in=FILE:FORMAT:PAGES  tiles of an input: circular buffer 0, 1, ...     out=FILE:FORMAT:PAGES:TILES  the output:
//   buffer 16 cb=INDEX:FORMAT:PAGES another circular buffer                          reader=, compute=, writer=FILE
//   kernels count=N               runtime argument of all kernels                  wide=1, full=1, direct=INDEX,
//   fidelity=0 (LoFi)  of the compute kernel
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <tt-metalium/host_api.hpp>
#include <tt-metalium/tensor_accessor_args.hpp>
#include <tt-metalium/tt_backend_api_types.hpp>

using namespace tt;
using namespace tt::tt_metal;

namespace {
std::vector<std::string> fields(const std::string& text) {
    std::vector<std::string> found;
    std::istringstream stream(text);
    for (std::string field; std::getline(stream, field, ':');) found.push_back(field);
    return found;
}

uint32_t number(const std::string& text) { return static_cast<uint32_t>(std::stoul(text)); }

std::vector<uint8_t> read_file(const std::string& path) {
    std::vector<uint8_t> data;
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (!file) std::exit(1);
    for (int c; (c = std::fgetc(file)) != EOF;) data.push_back(static_cast<uint8_t>(c));
    std::fclose(file);
    return data;
}

using MeshBuffers = std::vector<std::shared_ptr<distributed::MeshBuffer>>;

std::shared_ptr<distributed::MeshBuffer> tensor(distributed::MeshDevice* device, uint32_t tiles, DataFormat format) {
    const distributed::DeviceLocalBufferConfig local{.page_size = tile_size(format), .buffer_type = BufferType::DRAM};
    return distributed::MeshBuffer::create(
        distributed::ReplicatedBufferConfig{.size = uint64_t{tiles} * tile_size(format)}, local, device);
}

void circular_buffer(Program& program, uint32_t index, DataFormat format, uint32_t pages) {
    const auto id = static_cast<uint8_t>(index);
    CreateCircularBuffer(
        program, CoreCoord(0, 0),
        CircularBufferConfig(pages * tile_size(format), {{id, format}}).set_page_size(id, tile_size(format)));
}
}  // namespace

int main(int argc, char** argv) {
    auto device = distributed::MeshDevice::create_unit_mesh(0);
    distributed::MeshCommandQueue& queue = device->mesh_command_queue();
    Program program = CreateProgram();
    const CoreCoord core(0, 0);
    MeshBuffers inputs, outputs;
    std::string reader, compute, writer, output_file;
    uint32_t count = 0;
    ComputeConfig compute_config{.math_fidelity = MathFidelity::HiFi4,
                                 .unpack_to_dest_mode = std::vector<UnpackToDestMode>(32)};
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i], key = argument.substr(0, argument.find('=')),
                          value = argument.substr(argument.find('=') + 1);
        const std::vector<std::string> parts = fields(value);
        if (key == "in") {
            std::vector<uint8_t> data = read_file(parts[0]);
            const auto format = static_cast<DataFormat>(number(parts[1]));
            circular_buffer(program, static_cast<uint32_t>(inputs.size()), format, number(parts[2]));
            inputs.push_back(tensor(device.get(), static_cast<uint32_t>(data.size() / tile_size(format)), format));
            distributed::EnqueueWriteMeshBuffer(queue, inputs.back(), data, false);
        } else if (key == "out") {
            const auto format = static_cast<DataFormat>(number(parts[1]));
            output_file = parts[0];
            circular_buffer(program, 16, format, number(parts[2]));
            outputs.push_back(tensor(device.get(), number(parts[3]), format));
        } else if (key == "cb") {
            circular_buffer(program, number(parts[0]), static_cast<DataFormat>(number(parts[1])), number(parts[2]));
        } else if (key == "wide") {
            compute_config.fp32_dest_acc_en = value == "1";
        } else if (key == "full") {
            compute_config.dst_full_sync_en = value == "1";
        } else if (key == "direct") {
            compute_config.unpack_to_dest_mode[number(value)] = UnpackToDestMode::UnpackToDestFp32;
        } else if (key == "fidelity") {
            compute_config.math_fidelity = static_cast<MathFidelity>(number(value));
        } else if (key == "count") {
            count = number(value);
        } else {
            (key == "reader" ? reader : key == "compute" ? compute : writer) = value;
        }
    }
    std::vector<uint32_t> reader_words, writer_words, addresses;
    for (const auto& input : inputs) {
        TensorAccessorArgs(*input).append_to(reader_words);
        addresses.push_back(input->address());
    }
    TensorAccessorArgs(*outputs[0]).append_to(writer_words);
    ReaderDataMovementConfig reader_config(reader_words);
    reader_config.defines["INPUTS"] = std::to_string(inputs.size());
    const KernelHandle reader_kernel = CreateKernel(program, reader, core, reader_config);
    const KernelHandle compute_kernel = CreateKernel(program, compute, core, compute_config);
    const KernelHandle writer_kernel = CreateKernel(program, writer, core, WriterDataMovementConfig(writer_words));
    addresses.push_back(count);
    SetRuntimeArgs(program, reader_kernel, core, addresses);
    SetRuntimeArgs(program, compute_kernel, core, {count});
    SetRuntimeArgs(program, writer_kernel, core, {outputs[0]->address(), outputs[0]->num_pages()});

    distributed::MeshWorkload workload;
    workload.add_program(distributed::MeshCoordinateRange(device->shape()), std::move(program));
    distributed::EnqueueMeshWorkload(queue, workload, false);
    std::vector<uint8_t> result;
    distributed::EnqueueReadMeshBuffer(queue, result, outputs[0], true);
    std::FILE* file = std::fopen(output_file.c_str(), "wb");
    const bool written = file && std::fwrite(result.data(), 1, result.size(), file) == result.size();
    return written && std::fclose(file) == 0 ? 0 : 1;
}
