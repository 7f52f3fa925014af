#include "compile/compile_job.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "source/named_roots.h"
#include "source/output_paths.h"

namespace kiln {

namespace {

// Whether the prelude may read the source itself, of which only its beginning is the prelude: NVRTC tells nobody.
bool may_read_source(const Closure& closure) {
  const auto asks_for_source = [](const Dependency& lookup) {
    return lookup.spelling.starts_with(virtual_name(""));
  };
  const auto is_made_by_macro = [](const IncludeDirective& include) {
    return include.form == IncludeDirective::Form::macro && !include.tested;
  };
  const bool is_open = !closure.unresolved.empty();
  return std::ranges::any_of(closure.dependencies.lookups, asks_for_source) ||
         (is_open && std::ranges::any_of(closure.source->directives.includes, is_made_by_macro));
}

// Covers the whole closure, not only what the prelude includes: so it does no harm if the compiler sees the prelude's
// end elsewhere. Covers each text that the compiler is given, since the compiler may read one by a look-up that the
// closure does not know.
Digest prelude_of(const CompileJob& job, const HeaderSearch& search, const Closure& closure) {
  const auto prelude = closure.source->directives.prelude;
  if (prelude == 0 || closure.texts.empty() || may_read_source(closure)) return {};
  std::string all(closure.dependencies.material());
  for (const auto& header : job.embedded)
    all.append(header.name).append(1, '\0').append(digest_of(header.text).view());
  all.append(search.roots().view());
  if (closure.tells_base) all.append(job.program).push_back('\0');
  all.append(std::string_view(job.source).substr(0, prelude)).push_back('\0');
  for (const auto& option : job.options) all.append(option).push_back('\0');
  all.append(job.arch).append(to_string(job.kind));
  return digest_of(all);
}

}  // namespace

CompileJob make_job(const Query& query, std::vector<HeaderForCompiler> embedded) {
  const auto& program = query.program;
  CompileJob job;
  job.program = program.name();
  job.source = program.source();
  job.embedded = std::move(embedded);
  job.include_dirs = query.search.directories();
  job.expressions = program.kernels();
  job.options = program.options();
  job.arch = query.target.arch();
  job.kind = query.target.kind();
  job.seed = query.request_digest;
  job.names_roots = may_name_roots(query) && NamedRoots::can_name(job.include_dirs);
  return job;
}

CompileJob make_job(const Query& query, const Closure& closure, bool prelude_repeats) {
  auto job = make_job(query, closure.embedded);
  // A precompiled prelude is a file.
  if (!prelude_repeats || !query.program.keep()) return job;
  job.prelude = prelude_of(job, query.search, closure);
  job.prelude_repeats = !closure.tells_base;
  job.prelude_is_open = !closure.unresolved.empty();
  return job;
}

tl::unexpected<Error> fail(ErrorCode code, const CompileJob& job, std::string_view what,
                           const std::string& log, int vendor_code) {
  return fail(code, fmt::format("{} for {}: {}", job.program, job.arch, what), log, vendor_code);
}

tl::unexpected<Error> cancelled(const CompileJob& job) {
  return fail(ErrorCode::cancelled, job, "the compile was cancelled");
}

tl::unexpected<Error> timed_out(const CompileJob& job, std::chrono::milliseconds timeout) {
  return fail(
      ErrorCode::timed_out, job,
      fmt::format("not compiled within {} s, and given up; KILN_COMPILE_TIMEOUT, "
                  "RuntimeOptions::compile_timeout or `kiln prewarm --timeout` gives it longer",
                  static_cast<double>(timeout.count()) / 1000));
}

}  // namespace kiln
