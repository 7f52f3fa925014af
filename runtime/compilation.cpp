#include "compilation.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/working_directory.h"
#include "lookup/nearest_entry.h"
#include "narrow/closure_of_readings.h"
#include "narrow/narrow.h"
#include "queue/prefetch.h"
#include "source/missing_headers.h"
#include "source/mounts.h"
#include "source/output_paths.h"
#include "source/spelled_neighbours.h"
#include "vendor/nvtx.h"

namespace kiln {

namespace {

// The headers of what a shared store offers are compared for so long: whoever may write it may have it say anything.
constexpr std::chrono::milliseconds time_to_compare{500};

// How far the search for the nearest entry goes beside a miss, which is not to take long.
constexpr AlikeLimits limits_of_a_miss{.entries = 200, .rows = 2'000};

// Of headers that were read after `before`. A file that was written a moment earlier may have been written again
// since, and look as it did; and one of an image looks like that of another image, which may be mounted by then.
std::vector<FileStamp> lasting_stamps(const Closure& closure,
                                      std::chrono::system_clock::time_point before) {
  MountedImages images;
  std::vector<FileStamp> stamps;
  stamps.reserve(closure.found.size());
  for (const auto& header : closure.found) {
    const bool lasts =
        is_settled(header.stamp, before) && !images.may_hold(header.path, header.stamp);
    stamps.push_back(lasts ? header.stamp : FileStamp{});
  }
  return stamps;
}

// The source, by the digest that the request has of it, and each header that was read.
std::vector<Text> texts_of(const Program& program, const Closure& closure) {
  std::vector<Text> texts{{program.source_digest(), program.source()}};
  std::set<Digest> known;
  for (const auto& header : closure.texts) {
    if (header && known.insert(header->digest).second)
      texts.push_back({header->digest, header->text});
  }
  return texts;
}

// An error that names a header that is not there shall name the others too, so that nobody mends one a compile.
Error with_all_missing(Error error, const Closure& closure) {
  constexpr std::size_t most = 8;
  auto others = missing_headers(closure);
  std::erase_if(others, [&](const std::string& name) {
    return error.message.find(fmt::format("\"{}\"", name)) != std::string::npos;
  });
  if (others.empty()) return error;
  const auto told = std::min(others.size(), most);
  error.message += fmt::format(
      ". Not found either, if the program gets to them: {}{}",
      fmt::join(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(told), ", "),
      others.size() > told ? fmt::format(" and {} more", others.size() - told) : "");
  return error;
}

}  // namespace

Compilation::Compilation(const Query& query, const Tools& tools,
                         std::function<void()> when_compiled)
    : Making(query.request, query.request_digest, "compiling", query.program.keep()),
      query_(query),
      tools_(tools),
      when_compiled_(std::move(when_compiled)) {}

Compilation::Compilation(const Query& query, const Tools& tools, const Loading& loading)
    : Making(query.request, query.request_digest, "compiling", query.program.keep()),
      query_(query),
      tools_(tools),
      loading_(loading) {}

const std::shared_ptr<const HeaderText>& Compilation::source() {
  if (!source_) source_ = scan_text(query_.program.source());
  return source_;
}

const Closure& Compilation::closure() {
  if (!closure_) closure_ = close_over(query_.program, source(), query_.search, tools_.files);
  return *closure_;
}

tl::expected<Making::Found, Miss> Compilation::look_up() { return ask(&Layers::find); }

tl::expected<Making::Found, Miss> Compilation::fetch(Heard heard) {
  return ask(heard == Heard::anew ? &Layers::fetch_anew : &Layers::fetch,
             std::chrono::steady_clock::now() + time_to_compare);
}

// Asks once, again where that may be trusted which is not here, and then for what other compilers made.
tl::expected<Making::Found, Miss> Compilation::ask(Layers::Ask ask,
                                                   std::chrono::steady_clock::time_point end) {
  WhyNot why_not;
  Fitness fitness(query_, tools_.compiler, tools_.eligible, tools_.files, why_not, loading_);
  fitness.end_at(end);
  const Layers::Wanted wanted{request, request_digest, asking_time, query_.search.roots()};
  do {
    auto found = (tools_.layers.*ask)(wanted, std::ref(fitness), why_not);
    if (!found && fitness.trust()) found = (tools_.layers.*ask)(wanted, std::ref(fitness), why_not);
    if (found) return Found{std::move(*found), fitness.remark(), fitness.trusted()};
  } while (fitness.widen());
  return tl::unexpected(why_not.miss());
}

bool Compilation::prelude_repeats() {
  const auto& said = source()->directives;
  if (!tools_.precompiles || !keep || said.prelude == 0) return false;
  prelude_ = prelude_text_of(query_.program, query_.target, said);
  return tools_.repeated_preludes.meet(*prelude_);
}

void Compilation::count_prelude(const CompileOutcome& compiled) {
  if (prelude_ && !compiled.precompiled)
    tools_.repeated_preludes.took(*prelude_,
                                  std::chrono::microseconds(compiled.artifact.compile_us));
}

// What a program may read is a hundred times what it reads, in CUDA's own libraries. So that is only found out beforehand
// where the compiler is to be given something by it: a prelude that other programs share, or few of many embedded headers.
CompileJob Compilation::job() {
  const bool repeats = prelude_repeats();
  if (!repeats && !closure_) {
    if (auto embedded = all_for_compiler(query_.search, tools_.files))
      return make_job(query_, std::move(*embedded));
  }
  return make_job(query_, closure(), repeats);
}

// A header of a record is told of by its name: where it lies meanwhile is no business of who reads that later.
Result<CompileOutcome> Compilation::run(const std::stop_token& stop) {
  auto outcome = tools_.service.run(job(), stop);
  const auto mend = [this](std::string& text) {
    text = tools_.recorded.without_folders(std::move(text));
  };
  if (outcome) {
    mend(outcome->artifact.log);
  } else {
    mend(outcome.error().message);
    mend(outcome.error().log);
  }
  return outcome;
}

Closure Compilation::what_was_read(const std::optional<Readings>& readings) {
  if (readings && closure_) return narrow(query_, closure(), *readings, tools_.files);
  if (readings) {
    const auto whole = closure_of_readings(query_, source(), *readings, tools_.files);
    return narrow(query_, whole, *readings, tools_.files);
  }
  auto read = closure();
  const bool depends_on_files = !read.dependencies.lookups.empty() || !read.unresolved.empty();
  // Else the working directory reaches the output, and another thread may have changed it.
  if (depends_on_files || !may_name_roots(query_))
    read.not_stored = "kiln cannot see which headers this NVRTC reads";
  return read;
}

Result<Making::Made> Compilation::make(const std::stop_token& stop, LookUpCounters& counters) {
  const vendor::ProfilerRange range(
      fmt::format("compile {} for {}", request.program, request.arch));
  if (auto there = query_.program.ensure_source(); !there) return tl::unexpected(there.error());
  const auto before = std::chrono::system_clock::now();
  ++counters.compiles;
  auto compiled = run(stop);
  if (when_compiled_) when_compiled_();
  if (!compiled) {
    const bool lacks_header = compiled.error().code == ErrorCode::header_not_found;
    return tl::unexpected(lacks_header ? with_all_missing(std::move(compiled.error()), closure())
                                       : std::move(compiled.error()));
  }
  if (stop.stop_requested()) return cancelled();
  if (compiled->precompiled) ++counters.precompiled;
  count_prelude(*compiled);
  read_ = what_was_read(compiled->readings);
  auto& artifact = compiled->artifact;
  record_output_paths(
      query_, artifact.image,
      compiled->readings ? compiled->readings->working_directory : working_directory(), read_);
  if (read_.not_stored.empty()) read_.not_stored = tools_.recorded.told_by(read_.dependencies);
  artifact.not_kept = read_.not_stored;
  auto texts = texts_of(query_.program, read_);
  if (tools_.sources != nullptr && keep)
    tools_.sources->lay_out(request, read_.dependencies, texts);
  if (!query_.program.source_word().empty()) {
    artifact.source_text = digest_of(query_.program.source());
    texts.erase(texts.begin());
  }
  return Made{std::move(artifact),
              read_.dependencies,
              {query_.search.roots(), lasting_stamps(read_, before)},
              std::move(texts)};
}

Explanation Compilation::explain() {
  auto found = ask(&Layers::peek);
  if (!found) return explain_miss(std::move(found.error().why_not), {});
  return explain_hit(*found->served.artifact, found->served.origin, std::move(found->remark));
}

Explanation Compilation::explain_hit(const Artifact& artifact, Origin origin, std::string remark) {
  auto hit = Making::explain_miss({});
  hit.hit = true;
  hit.origin = origin;
  hit.key = artifact.key;
  hit.remark = std::move(remark);
  return hit;
}

Explanation Compilation::explain_miss(std::string why_not) {
  return explain_miss(std::move(why_not), limits_of_a_miss);
}

Explanation Compilation::explain_miss(std::string why_not, const AlikeLimits& limits) {
  auto miss = Making::explain_miss(std::move(why_not));
  const auto& compiler = tools_.compiler.search().files;
  // A source that is made on demand is made for a compile, not to tell why there is none.
  const Closure unread;
  const auto& read = query_.program.has_source() ? closure() : unread;
  miss.nearest =
      nearest_entry({query_, read, compiler ? &compiler->toolchain : nullptr, miss.reason},
                    tools_.layers, tools_.files, limits);
  miss.not_stored = read.not_stored;
  return miss;
}

}  // namespace kiln
