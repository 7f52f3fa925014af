#include "nvrtc_compiler.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "compile.h"
#include "header_files.h"
#include "header_trace.h"

namespace kiln {

namespace {

using State = PrecompiledPrelude::State;

// NVRTC says so after the first warning of a compile; messages and remarks before it do not count.
constexpr std::string_view remark =
    "Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n\n";

std::string without_remark(std::string log) {
  if (const auto at = log.find(remark); at != std::string::npos) log.erase(at, remark.size());
  return log;
}

// Whether what NVRTC has just read from the disk is what the job was made from.
bool hold(const std::vector<HeaderOnDisk>& files) {
  HeaderFiles fresh;
  return std::all_of(files.begin(), files.end(), [&](const HeaderOnDisk& file) {
    return stamp_of(file.path) == file.stamp && fresh.digest(file.path, file.stamp) == file.content;
  });
}

// NVRTC has one heap for the process. What somebody else wants more of stays, and where memory is short its own
// choice.
void make_room_for_preludes(const vendor::Nvrtc& nvrtc) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < 4 * precompiled_heap_bytes) return;
  if (nvrtc.get_precompiled_heap_size == nullptr || nvrtc.set_precompiled_heap_size == nullptr)
    return;
  std::size_t size = 0;
  if (nvrtc.get_precompiled_heap_size(&size) != NVRTC_SUCCESS || size >= precompiled_heap_bytes)
    return;
  nvrtc.set_precompiled_heap_size(precompiled_heap_bytes);
}

void add_headers(const std::vector<std::string>& more, std::vector<std::string>& headers) {
  std::vector<std::string> all;
  std::set_union(headers.begin(), headers.end(), more.begin(), more.end(), std::back_inserter(all));
  headers = std::move(all);
}

}  // namespace

std::optional<std::string> log_of_prelude(const std::string& whole, const std::string& rest) {
  for (const auto& tail : {rest, without_remark(rest)}) {
    if (whole.ends_with(tail)) return whole.substr(0, whole.size() - tail.size());
  }
  return std::nullopt;
}

std::string join_logs(const std::string& prelude, const std::string& rest) {
  return prelude + (prelude.find(remark) == prelude.npos ? rest : without_remark(rest));
}

NvrtcCompiler::NvrtcCompiler(std::uint64_t precompiled_max_bytes, ReadingWatch* watch)
    : precompiled_max_bytes_(precompiled_max_bytes), watch_(watch) {}

void NvrtcCompiler::set_up(const vendor::Nvrtc& nvrtc) {
  auto made = ScratchFolder::make();
  if (!made) return;
  if (precompiled_max_bytes_ != 0) make_room_for_preludes(nvrtc);
  scratch_.emplace(std::move(*made));
  precompiled_.emplace(scratch_->path(), precompiled_max_bytes_);
}

Result<CompileOutcome> NvrtcCompiler::run(const vendor::Nvrtc& nvrtc, const CompileJob& job,
                                          const std::stop_token& stop) {
  std::call_once(set_up_, [&] { set_up(nvrtc); });
  if (precompiled_ && nvrtc.has_precompiled_headers()) {
    if (const auto prelude = precompiled_->of(job)) {
      if (auto outcome = with(*prelude, nvrtc, job, stop)) return std::move(*outcome);
      if (stop.stop_requested()) return tl::unexpected(cancelled(job));
    }
  }
  return observed(nvrtc, job, {}, stop);
}

// Of an embedded header, which is no file, only the trace tells.
Result<CompileOutcome> NvrtcCompiler::observed(const vendor::Nvrtc& nvrtc, const CompileJob& job,
                                               const std::vector<std::string>& options,
                                               const std::stop_token& stop) {
  const bool watch = watch_ != nullptr && job.embedded.empty() && watch_sees_all(nvrtc, job);
  return watch ? watched(nvrtc, job, options, stop) : traced(nvrtc, job, options, stop);
}

Result<CompileOutcome> NvrtcCompiler::watched(const vendor::Nvrtc& nvrtc, const CompileJob& job,
                                              const std::vector<std::string>& options,
                                              const std::stop_token& stop) {
  watch_->begin();
  auto outcome = compile(nvrtc, job, options, stop);
  auto opened = watch_->end();
  if (outcome) outcome->headers_read = std::move(opened);
  return outcome;
}

// NVRTC may come to open files in another way: what is not seen would be no dependency. So it is tried out.
bool NvrtcCompiler::watch_sees_all(const vendor::Nvrtc& nvrtc, const CompileJob& wanted) {
  if (watch_sees_all_) return *watch_sees_all_;
  if (!scratch_) return false;
  const auto folder = scratch_->path() / "headers";
  std::error_code failure;
  std::filesystem::create_directory(folder, failure);
  for (const char* name : {"read.h", "quoted.h", "unread.h"}) std::ofstream(folder / name) << '\n';
  CompileJob job;
  job.program = "headers.cu";
  job.source = "#include <read.h>\n#if 0\n#include <unread.h>\n#endif\n#include \"quoted.h\"\n";
  job.include_dirs = {folder.string()};
  job.arch = wanted.arch;
  job.kind = wanted.kind;
  watch_->begin();
  const auto outcome = compile(nvrtc, job, {}, {});
  const std::vector<std::string> all{folder / "quoted.h", folder / "read.h"};
  const bool sees_all = watch_->end() == all;
  std::filesystem::remove_all(folder, failure);
  // What fails for another reason, an unknown architecture say, tells nothing.
  if (outcome) watch_sees_all_ = sees_all;
  return outcome && sees_all;
}

Result<CompileOutcome> NvrtcCompiler::traced(const vendor::Nvrtc& nvrtc, const CompileJob& job,
                                             std::vector<std::string> options,
                                             const std::stop_token& stop) {
  if (!scratch_ || !nvrtc.has_time_trace()) return compile(nvrtc, job, options, stop);
  const HeaderTrace trace(scratch_->path(), "trace-" + std::to_string(++traces_));
  if (trace.option().empty()) return compile(nvrtc, job, options, stop);
  options.push_back(trace.option());
  auto outcome = compile(nvrtc, job, options, stop);
  if (outcome) outcome->headers_read = trace.headers();
  return outcome;
}

// Nothing where a plain compile has to tell: of any failure, for one, so that its log is the plain one.
std::optional<CompileOutcome> NvrtcCompiler::with(PrecompiledPrelude& prelude,
                                                  const vendor::Nvrtc& nvrtc, const CompileJob& job,
                                                  const std::stop_token& stop) {
  std::unique_lock lock(prelude.mutex);
  switch (prelude.state) {
    case State::declined:
      return std::nullopt;
    case State::unmade:
      return make(prelude, nvrtc, job, stop);
    case State::made:
      break;
  }
  lock.unlock();
  return use(prelude, nvrtc, job, stop);
}

std::optional<CompileOutcome> NvrtcCompiler::make(PrecompiledPrelude& prelude,
                                                  const vendor::Nvrtc& nvrtc, const CompileJob& job,
                                                  const std::stop_token& stop) {
  // What was left by one that was not made to its end is of no use: NVRTC would read no header for it, and
  // none would be known.
  if (prelude.files() != 0) prelude.discard();
  auto outcome = observed(nvrtc, job, prelude.options(), stop);
  if (!outcome) {
    // NVRTC writes it before it comes to an error of the program's own.
    prelude.discard();
    return std::nullopt;
  }
  if (prelude.files() != 1) {
    prelude.state = State::declined;
    return std::nullopt;
  }
  // A header that was written meanwhile: the next one to come makes another.
  if (!hold(job.files)) {
    prelude.discard();
    return std::nullopt;
  }
  const std::string& whole = outcome->artifact.log;
  if (!whole.empty()) {
    const auto again = observed(nvrtc, job, prelude.options(), stop);
    const auto own = again ? log_of_prelude(whole, again->artifact.log) : std::nullopt;
    if (!own) {
      prelude.state = State::declined;
      prelude.discard();
      return std::nullopt;
    }
    prelude.log = *own;
  }
  if (outcome->headers_read) prelude.headers = *outcome->headers_read;
  prelude.state = State::made;
  return std::move(*outcome);
}

std::optional<CompileOutcome> NvrtcCompiler::use(PrecompiledPrelude& prelude,
                                                 const vendor::Nvrtc& nvrtc, const CompileJob& job,
                                                 const std::stop_token& stop) {
  auto outcome = observed(nvrtc, job, prelude.options(), stop);
  // NVRTC makes another where it does not take the one that is there.
  if (!outcome || prelude.files() != 1) return std::nullopt;
  outcome->precompiled = true;
  outcome->artifact.log = join_logs(prelude.log, outcome->artifact.log);
  if (outcome->headers_read) add_headers(prelude.headers, *outcome->headers_read);
  return std::move(*outcome);
}

}  // namespace kiln
