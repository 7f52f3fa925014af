#include "support.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <utility>

#include <gtest/gtest.h>
#include <sqlite3.h>

namespace kiln::test {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::path(::testing::TempDir()) / "kiln-cache-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) std::abort();
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

NewEntry Sample::entry() const {
  NewEntry entry{.request = request,
                 .dependencies = dependencies,
                 .toolchain = toolchain,
                 .artifact = artifact,
                 .witness = witness.stamps.empty() ? nullptr : &witness,
                 .texts = {{digest_of(source), source}},
                 .code = &code};
  for (const std::string& header : headers) entry.texts.push_back({digest_of(header), header});
  return entry;
}

Sample make_plain_sample(int number) {
  Sample sample;
  sample.source = "#include \"engine/vec.cuh\"\n__global__ void scale(float* x);\n";
  sample.request = {.program = "scale.cu",
                    .source = digest_of(sample.source),
                    .source_bytes = sample.source.size(),
                    .options = {"--std=c++20", "-DN=" + std::to_string(number)},
                    .expressions = {"scale<float>", "scale<half>"},
                    .arch = "sm_90a",
                    .kind = "cubin"};
  sample.toolchain = {digest_of("a compiler"), "NVRTC 13.0"};
  sample.artifact.program = sample.request.program;
  sample.artifact.arch = sample.request.arch;
  sample.artifact.kind = sample.request.kind;
  sample.artifact.image = random_bytes(600, static_cast<unsigned>(number));
  sample.artifact.kernels = {{.expression = "scale<float>",
                              .symbol = "_Z5scaleIfEvPT_",
                              .registers = 24,
                              .shared_bytes = 1024,
                              .local_bytes = 16,
                              .params_known = true,
                              .params = {{0, 8}, {8, 4}}},
                             {.expression = "scale<half>", .symbol = "_Z5scaleI6__halfEvPT_"}};
  sample.code = {{.bytes = 768, .spills = Spills{16, 24}, .max_threads = 256}, {}};
  sample.artifact.log = "scale.cu(2): warning: variable \"y\" was never used";
  sample.artifact.toolchain = sample.toolchain.text;
  sample.artifact.compile_us = 27'000;
  return sample;
}

Sample make_sample(int number, std::size_t image_bytes) {
  Sample sample = make_plain_sample(number);
  sample.artifact.image = random_bytes(image_bytes, static_cast<unsigned>(number));
  sample.headers = {"#pragma once\n#include \"detail/lane.cuh\"\n", "#pragma once\n"};
  sample.dependencies.lookups = {
      {.spelling = "engine/vec.cuh", .content = digest_of(sample.headers[0])},
      {.spelling = "detail/lane.cuh", .parent = 0, .content = digest_of(sample.headers[1])},
      {.spelling = "engine/absent.cuh"}};
  sample.witness.roots = digest_of("/usr/include");
  sample.witness.stamps = {{2049, 11, 42, 1'700'000'000'000'000'000, 1'700'000'000'000'000'001},
                           {2049, 12, 13, -1, 5},
                           {}};
  return sample;
}

std::string random_bytes(std::size_t size, unsigned seed) {
  std::mt19937 generator(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(generator());
  return bytes;
}

std::optional<Artifact> find(Cache& cache, const Sample& sample) {
  return cache.find(sample.request, sample.witness.roots, [&](const Candidate& candidate) {
    return candidate.toolchain.identity == sample.toolchain.identity &&
           candidate.dependencies == sample.dependencies;
  });
}

Artifact as_found(const Sample& sample) {
  Artifact artifact = sample.artifact;
  artifact.key = key_of(digest_of(sample.request.material()),
                        digest_of(sample.dependencies.material()), sample.toolchain.identity);
  artifact.origin = Origin::local;
  return artifact;
}

bool same_artifact(const Artifact& a, const Artifact& b) {
  return a.key == b.key && a.program == b.program && a.arch == b.arch && a.kind == b.kind &&
         a.image == b.image && a.kernels == b.kernels && a.log == b.log &&
         a.toolchain == b.toolchain;
}

mode_t mode_of(const fs::path& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

std::string read_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const fs::path& file, std::string_view bytes) {
  // Not truncated first: file systems make that wait for the disk, and damage tests do it often.
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(descriptor, 0) << file;
  const auto size = static_cast<ssize_t>(bytes.size());
  EXPECT_EQ(::write(descriptor, bytes.data(), bytes.size()), size) << file;
  EXPECT_EQ(::ftruncate(descriptor, size), 0) << file;
  ::close(descriptor);
}

std::map<std::string, std::string> snapshot(const fs::path& folder) {
  std::map<std::string, std::string> found;
  for (const auto& item : fs::directory_iterator(folder)) {
    struct stat status;
    if (::lstat(item.path().c_str(), &status) != 0) continue;
    std::string facts;
    for (const long long fact :
         {static_cast<long long>(status.st_ino), static_cast<long long>(status.st_size),
          static_cast<long long>(status.st_mode), static_cast<long long>(status.st_mtim.tv_sec),
          static_cast<long long>(status.st_mtim.tv_nsec),
          static_cast<long long>(status.st_ctim.tv_sec),
          static_cast<long long>(status.st_ctim.tv_nsec)}) {
      facts += std::to_string(fact) + " ";
    }
    if (S_ISREG(status.st_mode)) facts += read_file(item.path());
    found[item.path().filename().string()] = facts;
  }
  return found;
}

void run_sql(const fs::path& file, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
  char* message = nullptr;
  const int code = sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &message);
  EXPECT_EQ(code, SQLITE_OK) << (message ? message : "");
  sqlite3_free(message);
  sqlite3_close(database);
}

std::vector<int> run_processes(int count, const std::function<int(int)>& work) {
  int gate[2];
  if (::pipe(gate) != 0) std::abort();
  std::vector<pid_t> children;
  for (int number = 0; number < count; ++number) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(gate[1]);
      char nothing;
      while (::read(gate[0], &nothing, 1) > 0) {
      }
      // An exception may not unwind into the tests: each child would run all that are left.
      ::_exit([&]() noexcept { return work(number); }());
    }
    children.push_back(child);
  }
  ::close(gate[0]);
  ::close(gate[1]);
  std::vector<int> results;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    results.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  }
  return results;
}

std::string run_as(const User& user, const std::function<std::string()>& work) {
  int answer[2];
  if (::pipe(answer) != 0) std::abort();
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(answer[0]);
    const gid_t group = user.group;
    ::umask(user.umask);
    if (::setgroups(1, &group) != 0 || ::setgid(user.id) != 0 || ::setuid(user.id) != 0) ::_exit(1);
    const std::string text = work();
    ::_exit(::write(answer[1], text.data(), text.size()) < 0 ? 1 : 0);
  }
  ::close(answer[1]);
  std::string text;
  char buffer[512];
  for (ssize_t size; (size = ::read(answer[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(size));
  }
  ::close(answer[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return text;
}

}  // namespace kiln::test
