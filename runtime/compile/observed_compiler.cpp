#include "compile/observed_compiler.h"

#include <sys/resource.h>

#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "compile/file_answers.h"
#include "compile/file_snapshot.h"
#include "compile/nvrtc_compile.h"
#include "source/directives.h"
#include "source/header_search.h"
#include "source/output_paths.h"
#include "source/program_tellers.h"
#include "source/text_search.h"

namespace kiln {

namespace {

using State = PrecompiledPrelude::State;

// NVRTC adds this to the first warning of a compile, but to no message or remark.
constexpr std::string_view remark =
    "Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n\n";

std::string without_remark(std::string log) {
  if (const auto at = log.find(remark); at != std::string::npos) log.erase(at, remark.size());
  return log;
}

// NVRTC has one heap for the process. It stays as it is where somebody else wants a larger one, and where memory is
// short.
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

// Headers tell where they lie (text_at()), and yet a compiler may tell by which name it came to one.
bool tells_a_name(const CompileOutcome& outcome, ImageKind kind) {
  const auto& name = NamedRoots::beginning();
  return shows(outcome.artifact.image, kind, name) || holds(outcome.artifact.log, name);
}

bool tells_a_name(const Result<CompileOutcome>& outcome, ImageKind kind) {
  const auto& name = NamedRoots::beginning();
  if (outcome) return tells_a_name(*outcome, kind);
  return holds(outcome.error().message, name) || holds(outcome.error().log, name);
}

// NVRTC's warning that it made no precompiled header, or one of what came before: `#line` is such a reason.
constexpr std::string_view precompiling_disabled = "#20283-D";

// Whether a log or an image names another program than the job's, of which its prelude was made: messages of a source's own
// directives do, in the prelude's log or in that of its use.
bool names_another(const std::string& made, const PrecompiledPrelude& prelude,
                   const CompileJob& job) {
  return prelude.program != job.program && holds_path(made, virtual_name(prelude.program));
}

// Whether it was made, and of what `files` finds.
bool is_usable(const PrecompiledPrelude& prelude, FileSnapshot& files) {
  return prelude.state == State::made && files.adopt(prelude.readings, prelude.made);
}

bool may_tell_program(const FileSnapshot& files, const CompileJob& job) {
  ProgramTellers tellers;
  tellers.add(std::string_view(job.source).substr(0, read_directives(job.source).prelude));
  for (const auto& option : job.options) tellers.add_option(option);
  for (const auto& header : job.embedded) tellers.add(header.text);
  files.each_text_before_writing([&](std::string_view text) { tellers.add(text); });
  return tellers.any();
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

ObservedCompiler::ObservedCompiler(std::uint64_t precompiled_max_bytes)
    : precompiled_max_bytes_(precompiled_max_bytes) {}

void ObservedCompiler::set_up(const vendor::Nvrtc& nvrtc) {
  auto made = ScratchFolder::make();
  if (!made) return;
  if (precompiled_max_bytes_ != 0) make_room_for_preludes(nvrtc);
  scratch_.emplace(std::move(*made));
  precompiled_.emplace(scratch_->path(), precompiled_max_bytes_);
}

Result<CompileOutcome> ObservedCompiler::run(const vendor::Nvrtc& nvrtc, const CompileJob& job,
                                             const std::stop_token& stop) {
  if (!job.trace_file.empty()) return trace(nvrtc, job, stop);
  std::call_once(set_up_, [&] { set_up(nvrtc); });
  Call call{nvrtc, job, stop};
  if (job.names_roots && FileAnswers::possible()) call.roots.emplace(job.include_dirs);
  return run(call);
}

Result<CompileOutcome> ObservedCompiler::run(const Call& call) {
  if (precompiled_ && call.nvrtc.has_precompiled_headers()) {
    if (const auto prelude = precompiled_->of(call.job)) {
      auto outcome = with(*prelude, call);
      if (outcome && !tells_a_name(*outcome, call.job.kind)) return std::move(*outcome);
      if (call.stop.stop_requested()) return cancelled(call.job);
    }
  }
  {
    auto files = files_of(call);
    auto outcome = call.compile_from(files, {});
    if (!call.roots || (!files.doubts() && !tells_a_name(outcome, call.job.kind))) return outcome;
  }
  // A compiler that goes by more than is answered here, or by the names themselves, is given none.
  const Call plain{call.nvrtc, call.job, call.stop};
  auto files = files_of(plain);
  return plain.compile_from(files, {});
}

FileSnapshot ObservedCompiler::files_of(const Call& call) const {
  const auto& job = call.job;
  return FileSnapshot(job.embedded, scratch_ ? scratch_->path().string() + '/' : std::string(),
                      call.names(), hides_working_directory(job.options, job.kind));
}

// Nothing is kept of it, so nobody need know what it read; and what is precompiled would be in no trace.
Result<CompileOutcome> ObservedCompiler::trace(const vendor::Nvrtc& nvrtc, const CompileJob& job,
                                               const std::stop_token& stop) {
  if (!nvrtc.has_time_trace()) {
    return fail(ErrorCode::compiler_missing, job,
                fmt::format("{} has no time trace, which came with NVRTC 12.8", nvrtc.text()));
  }
  return compile(nvrtc, job, {"-fdevice-time-trace=" + job.trace_file}, nullptr, stop);
}

// The outcome has its readings where anybody can see them.
Result<CompileOutcome> ObservedCompiler::Call::compile_from(
    FileSnapshot& files, const std::vector<std::string>& options) const {
  if (!FileAnswers::possible()) return compile(nvrtc, job, options, names(), stop);
  const FileAnswers answers(files);
  auto outcome = compile(nvrtc, job, options, names(), stop);
  if (outcome) outcome->readings = files.readings();
  return outcome;
}

// Nothing where a plain compile has to follow: after any failure, for one, so that the log is the plain one.
std::optional<CompileOutcome> ObservedCompiler::with(PrecompiledPrelude& prelude,
                                                     const Call& call) const {
  constexpr int most_attempts = 3;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    {
      const std::shared_lock lock(prelude.mutex);
      if (prelude.state == State::impossible) return std::nullopt;
      auto files = files_of(call);
      if (is_usable(prelude, files)) return use(prelude, files, call);
    }
    const std::unique_lock lock(prelude.mutex);
    if (prelude.state == State::impossible) return std::nullopt;
    auto files = files_of(call);
    if (!is_usable(prelude, files)) return make(prelude, call);
    // Another thread made it meanwhile: it is used once more beside the others'.
  }
  return std::nullopt;
}

std::optional<CompileOutcome> ObservedCompiler::make(PrecompiledPrelude& prelude,
                                                     const Call& call) const {
  // One that was not made to its end is of no use: NVRTC would read no header for it, and kiln would know of none.
  prelude.discard();
  prelude.made = std::chrono::system_clock::now();
  auto files = files_of(call);
  auto outcome = call.compile_from(files, prelude.options());
  if (outcome && learn(prelude, files, *outcome, call)) {
    prelude.state = State::made;
    return std::move(*outcome);
  }
  prelude.discard();
  // An error of the program's own comes after the prelude was written; another program may have none.
  if (outcome) prelude.state = State::impossible;
  return std::nullopt;
}

// Whether all is known of a new prelude that its uses need.
bool ObservedCompiler::learn(PrecompiledPrelude& prelude, FileSnapshot& files,
                             const CompileOutcome& made, const Call& call) {
  auto readings = files.readings_before_writing();
  if (!made.readings || !made.readings->doubt.empty() || !readings || prelude.files() != 1)
    return false;
  if (call.job.prelude_is_open && may_tell_program(files, call.job)) return false;
  prelude.readings = std::move(*readings);
  prelude.program = call.job.program;
  const std::string& whole = made.artifact.log;
  prelude.log.clear();
  if (whole.empty()) return true;
  if (holds(whole, precompiling_disabled)) return false;
  // A use says only what is the program's own.
  const auto again = call.compile_from(files, prelude.options());
  const auto own = again ? log_of_prelude(whole, again->artifact.log) : std::nullopt;
  prelude.log = own.value_or("");
  return own.has_value();
}

// `files` has what the prelude was made from.
std::optional<CompileOutcome> ObservedCompiler::use(const PrecompiledPrelude& prelude,
                                                    FileSnapshot& files, const Call& call) {
  if (names_another(prelude.log, prelude, call.job)) return std::nullopt;
  auto outcome = call.compile_from(files, prelude.options());
  // NVRTC makes another where it does not take the one that is there.
  if (!outcome || prelude.files() != 1 || files.met_second_name() ||
      names_another(outcome->artifact.log, prelude, call.job) ||
      names_another(outcome->artifact.image, prelude, call.job))
    return std::nullopt;
  outcome->precompiled = true;
  outcome->artifact.log = join_logs(prelude.log, outcome->artifact.log);
  return std::move(*outcome);
}

}  // namespace kiln
