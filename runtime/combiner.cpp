#include "combiner.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/stopwatch.h"
#include "kiln/explain.h"

namespace kiln {

/// One recipe as it is asked for on this machine.
struct Combiner::Wanted {
  const Recipe& recipe;
  const vendor::LibrarySearch& tool;
  const Make& make;
  Digest digest;  ///< Of the request.

  // What two processes must agree in to share a result.
  [[nodiscard]] Digest turn() const {
    std::string all(digest.view());
    if (tool.file) all += tool.file->toolchain.identity.view();
    return digest_of(all);
  }

  // What is missed and why, as a person reads it.
  [[nodiscard]] std::string summary(const std::string& why) const {
    Explanation explanation;
    explanation.program = recipe.request.program;
    explanation.arch = recipe.request.arch;
    explanation.kind = recipe.request.kind;
    explanation.request = digest;
    explanation.reason = why;
    return explanation.summary();
  }

  [[nodiscard]] Error not_cached(const std::string& why) const {
    return {ErrorCode::not_cached,
            fmt::format("{}; the mode cache-only forbids making it: fill the cache beforehand, or "
                        "set KILN_MODE=jit",
                        summary(why)),
            {},
            0};
  }

  [[nodiscard]] Error cancelled() const {
    return {ErrorCode::cancelled,
            fmt::format("{} for {}: making it was cancelled", recipe.request.program,
                        recipe.request.arch),
            {},
            0};
  }
};

namespace {

// Errors that every process meets alike which makes this of the same images.
bool is_of_the_images(const Error& error) {
  return error.code == ErrorCode::link_failed || error.code == ErrorCode::unknown_kernel ||
         error.code == ErrorCode::invalid_option || error.code == ErrorCode::unknown_arch;
}

}  // namespace

Combiner::Combiner(Layers& layers, const Reporter& reporter, const std::atomic<Mode>& mode,
                   std::chrono::milliseconds patience)
    : layers_(layers), reporter_(reporter), mode_(mode), patience_(patience) {}

Result<ServedArtifact> Combiner::obtain(const Recipe& recipe, const vendor::LibrarySearch& tool,
                                        const Make& make, const std::stop_token& stop) {
  const Wanted wanted{recipe, tool, make, digest_of(recipe.request.material())};
  auto landed = flights_.run(wanted.digest, stop, [&](const std::stop_token& nobody_left) {
    return look_up_or_make(wanted, nobody_left);
  });
  if (!landed) return tl::unexpected(wanted.cancelled());
  auto& outcome = landed->outcome;
  // A recipe names contents, so what another thread makes of it is what this one wants. But what that one
  // was forbidden may be allowed by now.
  const bool forbidden = !outcome && outcome.error().code == ErrorCode::not_cached;
  if (landed->own || !forbidden) return std::move(outcome);
  return look_up_or_make(wanted, stop);
}

Result<ServedArtifact> Combiner::look_up_or_make(const Wanted& wanted,
                                                 const std::stop_token& stop) {
  const Stopwatch watch;
  std::string why;
  if (auto found = look_up(wanted, why)) return std::move(*found);
  ++look_ups_.misses;
  tell(EventKind::miss, wanted, watch.milliseconds(), why);
  if (mode_ == Mode::cache_only) return tl::unexpected(wanted.not_cached(why));
  return make_in_turn(wanted, why, stop);
}

std::optional<ServedArtifact> Combiner::look_up(const Wanted& wanted, std::string& why_not) {
  const Stopwatch watch;
  why_not = "nothing is stored for this request";
  const auto accept = [&](const DependencySet&, const Toolchain& toolchain, const Witness*) {
    const auto& file = wanted.tool.file;
    const bool fits = !file || file->toolchain.identity == toolchain.identity;
    if (!fits) why_not = "it was made by another build of the tool";
    return fits;
  };
  bool damaged = false;
  auto found = layers_.find(wanted.recipe.request, wanted.digest, {}, accept, damaged);
  if (!found) {
    if (damaged) why_not = "what was stored for this request is damaged";
    return std::nullopt;
  }
  look_ups_.count_hit(found->origin);
  reporter_.tell(EventKind::hit, *found->artifact, found->origin, watch.milliseconds());
  return found;
}

Result<ServedArtifact> Combiner::make_in_turn(const Wanted& wanted, std::string why,
                                              const std::stop_token& stop) {
  auto turn = layers_.take_turn(wanted.turn(), patience_, stop);
  if (stop.stop_requested()) return tl::unexpected(wanted.cancelled());
  if (turn && turn->waited()) {
    ++look_ups_.waits;
    if (auto found = look_up(wanted, why)) return std::move(*found);
    if (turn->shared_failure()) return tl::unexpected(*turn->shared_failure());
  }
  // Asked here, since it may have been set while others had the turn.
  const Mode mode = mode_;
  if (mode == Mode::cache_only) return tl::unexpected(wanted.not_cached(why));
  if (mode == Mode::warn) reporter_.warn("making " + wanted.summary(why));
  auto made = make_and_store(wanted);
  // That there is no such tool, say, is this process's own affair.
  if (turn && !made && is_of_the_images(made.error())) turn->fail(made.error());
  return made;
}

Result<ServedArtifact> Combiner::make_and_store(const Wanted& wanted) {
  const Stopwatch watch;
  tell(EventKind::compile_begin, wanted, 0, {});
  auto made = wanted.make();
  if (!made) {
    tell(EventKind::compile_end, wanted, watch.milliseconds(), made.error().message);
    return tl::unexpected(std::move(made.error()));
  }
  ++made_;
  const auto& toolchain = wanted.tool.file->toolchain;
  made->toolchain = toolchain.text;
  made->key = key_of(wanted.digest, digest_of(DependencySet{}.material()), toolchain.identity);
  const auto artifact = std::make_shared<const Artifact>(std::move(*made));
  reporter_.tell(EventKind::compile_end, *artifact, Origin::compiled, watch.milliseconds());
  if (layers_.writable()) store(wanted, *artifact);
  layers_.remember(wanted.digest, {}, toolchain, artifact);
  return ServedArtifact{artifact, Origin::compiled};
}

void Combiner::store(const Wanted& wanted, const Artifact& artifact) {
  const Stopwatch watch;
  const auto& request = wanted.recipe.request;
  const DependencySet none;
  const NewEntry entry{request,  none,    wanted.tool.file->toolchain,
                       artifact, nullptr, {{request.source, wanted.recipe.text}}};
  if (const auto stored = layers_.store(entry); !stored) {
    return reporter_.tell(EventKind::not_stored, artifact, Origin::compiled, watch.milliseconds(),
                          stored.error().message);
  }
  ++look_ups_.stores;
  reporter_.tell(EventKind::store, artifact, Origin::compiled, watch.milliseconds());
}

void Combiner::tell(EventKind kind, const Wanted& wanted, double milliseconds,
                    std::string_view detail) const {
  const auto& request = wanted.recipe.request;
  reporter_.tell({kind, request.program, request.arch, {}, Origin::compiled, milliseconds, detail});
}

}  // namespace kiln
