#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/scratch_folder.h"
#include "compile/compile_job.h"
#include "kiln/caller_state.h"
#include "kiln/runtime.h"
#include "runtime_impl.h"
#include "source/closure.h"
#include "system/whole_io.h"

namespace kiln {

Result<TimeTrace> Runtime::trace(const Program& program, const Target& target) {
  const CallerState caller;
  const auto resolved = impl().resolve(target);
  if (!resolved) return tl::unexpected(resolved.error());
  if (resolved->kind() == ImageKind::fatbin) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} for {}: a fatbin is packed of other images: trace the compiles of "
                            "those, the cubins or PTX that it holds",
                            program.name(), resolved->arch()));
  }
  const auto scratch = ScratchFolder::make();
  if (!scratch) {
    return fail(ErrorCode::io_failed,
                fmt::format("{}: the temporary directory takes no trace; TMPDIR names another",
                            program.name()));
  }
  const auto choice = impl().choose(program, *resolved);
  const auto query = impl().query(choice.program(), *resolved);
  auto job = make_job(query, close_over(query.program, query.search, impl().files), false);
  job.trace_file = (scratch->path() / "trace").string();
  const auto compiled = impl().service.run(job, {});
  if (!compiled) return tl::unexpected(compiled.error());
  auto json = system::read_file((job.trace_file + ".json").c_str());
  if (!json) {
    return fail(ErrorCode::io_failed, fmt::format("{}: the compiler wrote no trace to {}.json",
                                                  program.name(), job.trace_file));
  }
  return TimeTrace{std::move(*json), compiled->artifact.compile_us};
}

}  // namespace kiln
