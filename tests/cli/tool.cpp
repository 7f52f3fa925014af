#include "tool.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include <sqlite3.h>

namespace kiln::tests {

namespace fs = std::filesystem;

namespace {

// Ones of the person who runs the tests must not decide them; which CUDA there is, they may.
constexpr const char* unwanted_variables[] = {"KILN_CACHE_DISABLE",
                                              "KILN_CACHE_READONLY",
                                              "KILN_CACHE_MAX_SIZE",
                                              "KILN_CACHE_TRUST_OTHERS",
                                              "KILN_CACHE_TRUST_OWNERS",
                                              "KILN_CACHE_GROUP",
                                              "KILN_TRUSTED_KEYS",
                                              "KILN_SIGNING_KEY",
                                              "KILN_BUNDLES",
                                              "KILN_COMPILE_PATIENCE",
                                              "KILN_PCH_AFTER",
                                              "KILN_PCH_LARGE_PAGES",
                                              "KILN_PCH_MAX_SIZE",
                                              "KILN_COMPILE_QUEUE",
                                              "KILN_COMPILE_TIMEOUT",
                                              "KILN_COMPILE_WORKERS",
                                              "KILN_COMPILE_MEMORY",
                                              "KILN_REMOTE",
                                              "KILN_REMOTE_HELPER",
                                              "KILN_WORKER",
                                              "KILN_MODE",
                                              "KILN_TOOLCHAINS",
                                              "KILN_ALLOW_PTX",
                                              "KILN_VARIANT",
                                              "KILN_RECORD",
                                              "KILN_SOURCES_DIR",
                                              "KILN_ENGINE",
                                              "KILN_CHECK_SOURCES",
                                              "KILN_NVDISASM",
                                              "KILN_LOG",
                                              "NO_COLOR",
                                              "XDG_CACHE_HOME",
                                              "XDG_CONFIG_HOME"};

constexpr uid_t another_user = 65534;

void make_set_user_id_tool(const fs::path& folder) {
  const auto tool = folder / "kiln-of-another-user";
  fs::copy_file(KILN_TOOL, tool, fs::copy_options::overwrite_existing);
  fs::permissions(tool, fs::perms(04755));
  fs::permissions(folder, fs::perms(0755));
}

[[noreturn]] void become_tool(const std::vector<std::string>& arguments, const fs::path& folder,
                              const Circumstances& circumstances) {
  for (const auto* variable : unwanted_variables) unsetenv(variable);
  setenv("HOME", folder.c_str(), 1);
  setenv("KILN_CACHE_DIR", (folder / "cache").c_str(), 1);
  for (const auto& [variable, value] : circumstances.environment)
    setenv(variable.c_str(), value.c_str(), 1);
  if (circumstances.no_override) {
    // Refused to all but root, who alone has them.
    prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE);
    prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH);
  }
  if (circumstances.no_folder) {
    const auto gone = folder / "gone";
    mkdir(gone.c_str(), 0700);
    if (chdir(gone.c_str()) != 0 || rmdir(gone.c_str()) != 0) _exit(127);
  }
  for (const int stream : circumstances.closed) ::close(stream);
  if (circumstances.file_size) {
    const rlimit limit{*circumstances.file_size, *circumstances.file_size};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  std::vector<char*> words{const_cast<char*>("kiln")};
  for (const auto& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  const auto own = folder / "kiln-of-another-user";
  if (circumstances.set_user_id && setuid(another_user) != 0) _exit(127);
  execv(circumstances.set_user_id ? own.c_str() : KILN_TOOL, words.data());
  _exit(127);
}

int open_terminal(std::string& name) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return -1;
  name = ptsname(master);
  return master;
}

// Until the last holder of the other end is gone.
std::string drain(int master) {
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = ::read(master, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  close(master);
  return text;
}

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

const char* const scale_source = R"(
template <class T, int N>
__global__ void scale(T* values, T factor) { values[threadIdx.x] *= factor * T(N); }
extern "C" __global__ void fill(int* values, int value) { values[threadIdx.x] = value; }
)";

std::vector<nlohmann::json> Outcome::documents() const {
  std::vector<nlohmann::json> result;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) result.push_back(nlohmann::json::parse(line));
  return result;
}

ToolTest::ToolTest() {
  std::string pattern = (fs::temp_directory_path() / "kiln-cli-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no scratch folder");
  folder_ = fs::canonical(pattern);
}

ToolTest::~ToolTest() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

Outcome ToolTest::run(const std::vector<std::string>& arguments,
                      const Circumstances& circumstances) const {
  const auto input = file("stdin", circumstances.input);
  std::string out = circumstances.output.value_or(scratch("stdout"));
  const std::string err = scratch("stderr");
  const int master = circumstances.terminal ? open_terminal(out) : -1;

  if (circumstances.set_user_id) make_set_user_id_tool(folder_);
  const auto child = fork();
  if (child == 0) {
    dup2(open(input.c_str(), O_RDONLY), STDIN_FILENO);
    dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY, 0600), STDOUT_FILENO);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    become_tool(arguments, folder_, circumstances);
  }
  Outcome outcome;
  if (circumstances.terminal) outcome.out = drain(master);
  int status = 0;
  waitpid(child, &status, 0);
  if (!circumstances.terminal && !circumstances.output) outcome.out = read(out);
  outcome.err = read(err);
  outcome.exit_code = exit_code_of(status);
  return outcome;
}

pid_t ToolTest::start(const std::vector<std::string>& arguments, const std::string& out,
                      const std::string& err) const {
  const auto child = fork();
  if (child == 0) {
    dup2(open(scratch(out).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    dup2(open(scratch(err).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    become_tool(arguments, folder_, {});
  }
  return child;
}

nlohmann::json ToolTest::compile(const std::vector<std::string>& arguments) const {
  std::vector<std::string> words{"--json", "compile"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const auto outcome = run(words);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto documents = outcome.documents();
  EXPECT_EQ(documents.size(), 1u) << outcome.out;
  return documents.empty() ? nlohmann::json() : documents.front();
}

std::string ToolTest::file(const std::string& name, const std::string& text) const {
  const auto path = scratch(name);
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
  return path.string();
}

Circumstances without_cuda() {
  return {.environment = {{"KILN_NVRTC", "/nonexistent/libnvrtc.so"},
                          {"KILN_NVJITLINK", "/nonexistent/libnvJitLink.so.13"},
                          {"KILN_NVFATBIN", "/nonexistent/libnvfatbin.so.13"},
                          {"KILN_CUDA_DRIVER", "/nonexistent/libcuda.so.1"}}};
}

void run_sql(const fs::path& database, const std::string& sql) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(database.c_str(), &handle), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sql;
  sqlite3_close(handle);
}

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::map<std::string, std::string> snapshot(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    files[entry.path().lexically_relative(folder).string()] =
        entry.is_regular_file() ? read(entry.path()) : "";
  }
  return files;
}

}  // namespace kiln::tests
