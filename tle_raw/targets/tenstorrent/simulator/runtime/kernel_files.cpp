// Kernels are files: each is compiled into a shared object of its own while the host program goes on, and loaded at the
// launch.
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "failure.hpp"
#include "program.hpp"
#include "scheduler.hpp"

extern char** environ;

// The command, a word a line, without files; tle_raw.targets.tenstorrent.simulator.build gives it.
#ifndef TT_SIM_KERNEL_COMMAND
#error "TT_SIM_KERNEL_COMMAND is the compiler's command"
#endif

namespace tt_sim {
namespace {
Release chosen_release = Release::v0_81_1;

std::vector<std::string> lines(const std::string& from) {
    std::istringstream stream(from);
    std::vector<std::string> found;
    for (std::string line; std::getline(stream, line);) found.push_back(line);
    return found;
}

std::string contents(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string temporary_folder() {
    const char* root = std::getenv("TMPDIR");
    std::string name = std::string(root && *root ? root : "/tmp") + "/tt_sim_XXXXXX";
    if (!mkdtemp(name.data())) fail_host("no temporary folder could be made at " + name);
    return name;
}

std::string found_file(const std::string& path) {
    for (const char* variable : {"", "TT_METAL_KERNEL_PATH", "TT_METAL_HOME"}) {
        const char* folder = *variable ? std::getenv(variable) : "";
        if (!folder) continue;
        const std::string candidate = *folder ? std::string(folder) + "/" + path : path;
        if (access(candidate.c_str(), R_OK) == 0) return candidate;
    }
    fail_host("CreateKernel: there is no file " + path);
}
}  // namespace

Release used_release() { return chosen_release; }
int use_release(Release chosen) {
    chosen_release = chosen;
    return 0;
}

Compilation start_compilation(const std::string& path, const std::vector<std::string>& macros) {
    Compilation made;
    made.folder = temporary_folder();
    made.library = made.folder + "/kernel.so";
    std::vector<std::string> words = lines(TT_SIM_KERNEL_COMMAND);
    for (const std::string& macro : macros) words.push_back("-D" + macro);
    words.push_back(text("-DTT_SIM_RELEASE=%u", static_cast<uint32_t>(chosen_release)));
    words.insert(words.end(), {found_file(path), "-o", made.library});
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (int output : {1, 2})
        posix_spawn_file_actions_addopen(&actions, output, (made.folder + "/messages").c_str(),
                                         O_WRONLY | O_CREAT | O_APPEND, 0600);
    pid_t process = 0;
    if (posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ) != 0)
        fail_host("the compiler does not start: " + words[0]);
    posix_spawn_file_actions_destroy(&actions);
    made.process = process;
    return made;
}

void finish_compilation(KernelParts& kernel) {
    Compilation& compilation = kernel.compilation;
    if (compilation.entry) return;
    int status = 0;
    waitpid(compilation.process, &status, 0);
    const std::string messages = contents(compilation.folder + "/messages");
    void* library = status == 0 ? dlopen(compilation.library.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    const std::string loader = library || status != 0 ? "" : dlerror();
    unlink((compilation.folder + "/messages").c_str());
    if (!threaded()) {  // a sanitizer reads the lines of its reports from the library
        unlink(compilation.library.c_str());
        rmdir(compilation.folder.c_str());
    }
    if (status != 0) stop_with("simulation stopped: " + kernel.path + " does not compile:\n" + messages);
    if (!library) stop_with("simulation stopped: " + kernel.path + " does not load: " + loader);
    if (!messages.empty()) std::fprintf(stderr, "%s: the compiler says:\n%s\n", kernel.path.c_str(), messages.c_str());
    compilation.entry = reinterpret_cast<void (*)()>(dlsym(library, "_Z11kernel_mainv"));
    if (!compilation.entry) stop_with("simulation stopped: " + kernel.path + " has no kernel_main()");
}
}  // namespace tt_sim
