// C = A @ B for fp16 A (80x112), B (112x100), C (80x100) on 3 x 2 cores. usage: main A.bin B.bin C.bin
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <tt-metalium/constants.hpp>
#include <tt-metalium/distributed.hpp>
#include <tt-metalium/host_api.hpp>
#include <tt-metalium/tensor_accessor_args.hpp>

using namespace tt;
using namespace tt::tt_metal;
using tt::constants::FACE_HEIGHT;
using tt::constants::FACE_WIDTH;
using tt::constants::TILE_HEIGHT;
using tt::constants::TILE_HW;
using tt::constants::TILE_WIDTH;

namespace {
constexpr uint32_t tiles(uint32_t elements) { return (elements + TILE_HEIGHT - 1) / TILE_HEIGHT; }

std::vector<uint8_t> read_file(const char* path, size_t bytes) {
    std::vector<uint8_t> data(bytes);
    std::FILE* file = std::fopen(path, "rb");
    if (!file || std::fread(data.data(), 1, bytes, file) != bytes) {
        std::fprintf(stderr, "%s: expected a file of %zu bytes\n", path, bytes);
        std::exit(1);
    }
    std::fclose(file);
    return data;
}

void write_file(const char* path, const std::vector<uint8_t>& data) {
    std::FILE* file = std::fopen(path, "wb");
    if (!file || std::fwrite(data.data(), 1, data.size(), file) != data.size()) {
        std::fprintf(stderr, "%s: cannot be written\n", path);
        std::exit(1);
    }
    std::fclose(file);
}

// Where an element lies in a matrix of tiles, each of four faces.
size_t tiled_index(uint32_t row, uint32_t column, uint32_t columns) {
    const uint32_t tile = row / TILE_HEIGHT * tiles(columns) + column / TILE_WIDTH;
    const uint32_t y = row % TILE_HEIGHT, x = column % TILE_WIDTH;
    const uint32_t face = y / FACE_HEIGHT * 2 + x / FACE_WIDTH;
    return size_t{tile} * TILE_HW + face * FACE_HEIGHT * FACE_WIDTH + y % FACE_HEIGHT * FACE_WIDTH + x % FACE_WIDTH;
}

// Row-major elements into tiles, zeros around them.
template <typename Element>
std::vector<Element> tilize(const std::vector<uint8_t>& bytes, uint32_t rows, uint32_t columns) {
    const Element* from = reinterpret_cast<const Element*>(bytes.data());
    std::vector<Element> to(size_t{tiles(rows)} * tiles(columns) * TILE_HW);
    for (uint32_t row = 0; row < rows; ++row)
        for (uint32_t column = 0; column < columns; ++column)
            to[tiled_index(row, column, columns)] = from[size_t{row} * columns + column];
    return to;
}

template <typename Element>
std::vector<uint8_t> untilize(const std::vector<Element>& from, uint32_t rows, uint32_t columns) {
    std::vector<uint8_t> bytes(size_t{rows} * columns * sizeof(Element));
    Element* to = reinterpret_cast<Element*>(bytes.data());
    for (uint32_t row = 0; row < rows; ++row)
        for (uint32_t column = 0; column < columns; ++column)
            to[size_t{row} * columns + column] = from[tiled_index(row, column, columns)];
    return bytes;
}

std::shared_ptr<distributed::MeshBuffer> dram_buffer(distributed::MeshDevice* device, uint32_t pages,
                                                     uint32_t page_bytes) {
    const distributed::DeviceLocalBufferConfig local{.page_size = page_bytes, .buffer_type = BufferType::DRAM};
    const distributed::ReplicatedBufferConfig whole{.size = uint64_t{pages} * page_bytes};
    return distributed::MeshBuffer::create(whole, local, device);
}

void circular_buffer(Program& program, const CoreRange& cores, CBIndex index, uint32_t pages, uint32_t page_bytes,
                     DataFormat format) {
    CreateCircularBuffer(program, cores,
                         CircularBufferConfig(pages * page_bytes, {{index, format}}).set_page_size(index, page_bytes));
}
}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: %s A.bin B.bin C.bin\n", argv[0]);
        return 1;
    }
    constexpr uint32_t M = 80, N = 100, K = 112, page_bytes = 2048;
    constexpr uint32_t Mt = tiles(M), Nt = tiles(N), Kt = tiles(K);
    constexpr uint32_t grid_x = 3, grid_y = 2;

    auto device = distributed::MeshDevice::create_unit_mesh(0);
    distributed::MeshCommandQueue& queue = device->mesh_command_queue();
    auto a = dram_buffer(device.get(), Mt * Kt, page_bytes);
    auto b = dram_buffer(device.get(), Kt * Nt, page_bytes);
    auto c = dram_buffer(device.get(), Mt * Nt, page_bytes);

    Program program = CreateProgram();
    const CoreRange cores(CoreCoord(0, 0), CoreCoord(grid_x - 1, grid_y - 1));
    circular_buffer(program, cores, CBIndex::c_0, 2, page_bytes, DataFormat::Float16);
    circular_buffer(program, cores, CBIndex::c_1, 2, page_bytes, DataFormat::Float16);
    circular_buffer(program, cores, CBIndex::c_16, 2, page_bytes, DataFormat::Float16);

    std::vector<uint32_t> reader_words, writer_words;
    TensorAccessorArgs(*a).append_to(reader_words);
    TensorAccessorArgs(*b).append_to(reader_words);
    TensorAccessorArgs(*c).append_to(writer_words);
    const KernelHandle reader = CreateKernel(
        program, "reader.cpp", cores,
        DataMovementConfig{
            .processor = DataMovementProcessor::RISCV_1, .noc = NOC::RISCV_1_default, .compile_args = reader_words});
    const KernelHandle writer = CreateKernel(
        program, "writer.cpp", cores,
        DataMovementConfig{
            .processor = DataMovementProcessor::RISCV_0, .noc = NOC::RISCV_0_default, .compile_args = writer_words});
    const KernelHandle compute = CreateKernel(
        program, "compute.cpp", cores, ComputeConfig{.math_fidelity = MathFidelity::HiFi4, .fp32_dest_acc_en = true});

    // Work of the cores in row-major order: start_id, count.
    constexpr uint32_t work[grid_y * grid_x][2] = {{0, 2}, {2, 2}, {4, 2}, {6, 2}, {8, 2}, {10, 2}};
    for (uint32_t i = 0; i < grid_x * grid_y; ++i) {
        const CoreCoord core(i % grid_x, i / grid_x);
        const uint32_t start_id = work[i][0], count = work[i][1];
        SetRuntimeArgs(
            program, reader, core,
            {static_cast<uint32_t>(a->address()), static_cast<uint32_t>(b->address()), start_id, count, Kt, Nt});
        SetRuntimeArgs(program, compute, core, {count, Kt});
        SetRuntimeArgs(program, writer, core, {static_cast<uint32_t>(c->address()), start_id, count});
    }

    std::vector<uint16_t> a_tiles = tilize<uint16_t>(read_file(argv[1], M * K * 2), M, K);
    std::vector<uint16_t> b_tiles = tilize<uint16_t>(read_file(argv[2], K * N * 2), K, N);
    distributed::EnqueueWriteMeshBuffer(queue, a, a_tiles, false);
    distributed::EnqueueWriteMeshBuffer(queue, b, b_tiles, false);
    distributed::MeshWorkload workload;
    workload.add_program(distributed::MeshCoordinateRange(device->shape()), std::move(program));
    distributed::EnqueueMeshWorkload(queue, workload, false);
    std::vector<uint16_t> c_tiles;
    distributed::EnqueueReadMeshBuffer(queue, c_tiles, c, true);
    distributed::Finish(queue);
    write_file(argv[3], untilize(c_tiles, M, N));
    device->close();
    return 0;
}
