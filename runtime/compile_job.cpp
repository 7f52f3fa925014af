#include "compile_job.h"

#include <cstddef>
#include <set>
#include <string_view>

namespace kiln {

namespace {

// The whole closure is in it, not only what the prelude includes: another end of the prelude than the
// compiler's does no harm then.
Digest prelude_of(const CompileJob& job, const HeaderSearch& search, const Closure& closure) {
  if (closure.prelude == 0 || closure.texts.empty()) return {};
  std::string all(closure.dependencies.material());
  all.append(search.roots().view());
  all.append(std::string_view(job.source).substr(0, closure.prelude)).push_back('\0');
  for (const auto& option : job.options) all.append(option).push_back('\0');
  all.append(job.arch).append(to_string(job.kind));
  // NVRTC takes a precompiled header only with the options that it was made with, and asks of these jobs in
  // another way what they read.
  all.push_back(job.embedded.empty() ? '\0' : '\1');
  return digest_of(all);
}

std::vector<HeaderOnDisk> headers_on_disk(const Closure& closure) {
  std::vector<HeaderOnDisk> files;
  std::set<std::string_view> known;
  for (std::size_t index = 0; index < closure.found.size(); ++index) {
    const auto& found = closure.found[index];
    if (found.path.empty() || !known.insert(found.path).second) continue;
    files.push_back({found.path, found.stamp, closure.dependencies.lookups[index].content});
  }
  return files;
}

}  // namespace

CompileJob make_job(const Program& program, const Target& target, const HeaderSearch& search,
                    const Digest& request, const Closure& closure) {
  CompileJob job;
  job.program = program.name();
  job.source = program.source();
  job.embedded = closure.embedded;
  job.include_dirs = search.directories();
  job.expressions = program.kernels();
  job.options = program.options();
  job.arch = target.arch();
  job.kind = target.kind();
  job.seed = request;
  job.prelude = prelude_of(job, search, closure);
  if (!job.prelude.empty()) job.files = headers_on_disk(closure);
  return job;
}

}  // namespace kiln
