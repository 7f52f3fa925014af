#include "pipeline.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/working_directory.h"
#include "manifest/recorded_programs.h"
#include "source/output_paths.h"

namespace kiln {

Pipeline::Pipeline(const Settings& settings, const Tools& tools)
    : tools_(tools),
      checks_sources_(settings.check_sources),
      eligible_(EligibleToolchains::parse(settings.toolchains).value_or(EligibleToolchains())),
      sources_(settings.sources_directory
                   ? std::make_unique<SourcesDirectory>(*settings.sources_directory, tools.reporter)
                   : nullptr),
      repeated_preludes_(settings.precompiled_after),
      compilation_{
          tools.compiler, eligible_,      tools.layers,       tools.service,
          tools.files,    tools.recorded, repeated_preludes_, settings.precompiled_max_bytes != 0,
          sources_.get()} {
  if (settings.record) {
    recorder_.emplace(*settings.record,
                      [this](const std::string& line) { tools_.reporter.warn(line); });
  }
}

std::optional<ServedArtifact> Pipeline::served_before(const Program& program,
                                                      const Target& target) {
  auto artifact = served_.find(program, target);
  if (!artifact) return std::nullopt;
  tools_.obtainer.count_memory_hit(*artifact);
  return ServedArtifact{std::move(artifact), Origin::memory};
}

std::optional<ServedArtifact> Pipeline::at_hand(const Query& query) {
  Compilation compilation(query, compilation_);
  auto found = tools_.obtainer.look_up(compilation);
  if (!found || !check_source(query.program, *found->artifact)) return std::nullopt;
  record(compilation, *found);
  served_.remember(query.program, query.target, found->artifact);
  return std::move(*found);
}

std::optional<ServedArtifact> Pipeline::stored(const Query& query, const Query& asked,
                                               const Loading& loading) {
  Compilation compilation(query, compilation_, loading);
  auto found = tools_.obtainer.look_up(compilation);
  if (!found || !check_source(query.program, *found->artifact)) return std::nullopt;
  Compilation asked_for(asked, compilation_);
  record(asked_for, *found);
  return std::move(*found);
}

Result<ServedArtifact> Pipeline::obtain(const Query& query, const CompileControl& control) {
  Compilation compilation(query, compilation_, control.when_compiled);
  auto obtained = tools_.obtainer.obtain(compilation, control.stop);
  if (obtained) {
    if (auto same = check_source(query.program, *obtained->artifact); !same)
      return tl::unexpected(std::move(same.error()));
  }
  record(compilation, obtained);
  if (obtained) served_.remember(query.program, query.target, obtained->artifact);
  return obtained;
}

// Where that is asked for: whether a source's word stands for what it stood for when the image was made.
Outcome Pipeline::check_source(const Program& program, const Artifact& artifact) const {
  if (!checks_sources_ || program.source_word().empty()) return {};
  if (auto there = program.ensure_source(); !there) return there;
  if (digest_of(program.source()) == artifact.source_text) return {};
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("program '{}': its source_word '{}' stood for another source when the image for "
                  "{} was made: give "
                  "each source a word of its own, and remove what is kept: kiln clear {}",
                  program.name(), program.source_word(), artifact.arch, artifact.key.hex()));
}

// Writes down what was asked for, also what failed: that is for somebody to mend.
void Pipeline::record(Compilation& asked, const Result<ServedArtifact>& obtained) {
  if (!recorder_ || !asked.keep) return;
  const auto& query = asked.query();
  const auto flight = query.flight();
  if (!recorder_->wants(flight)) return;
  auto closure = asked.closure();
  record_output_paths(query, obtained ? obtained->artifact->image : Bytes(), working_directory(),
                      closure);
  const auto stored = obtained ? tools_.layers.stored(obtained->artifact->key)
                               : Result<StoredEntry>(tl::unexpected(obtained.error()));
  recorder_->note(flight, list_request(query, closure, stored, [&](const Digest& text) {
                    return tools_.layers.text(text);
                  }));
}

Explanation Pipeline::explain(const Query& query) {
  Compilation compilation(query, compilation_);
  if (const auto artifact = served_.find(query.program, query.target))
    return compilation.explain_hit(*artifact, Origin::memory, {});
  return compilation.explain();
}

void Pipeline::forget(const Digest& key) {
  tools_.layers.forget(key);
  served_.forget(key);
}

}  // namespace kiln
