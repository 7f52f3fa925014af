#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/reporter.h"
#include "compilation.h"
#include "compile/compile_service.h"
#include "image/served_artifact.h"
#include "image/toolchains.h"
#include "kiln/error.h"
#include "kiln/explain.h"
#include "kiln/settings.h"
#include "lookup/layers.h"
#include "lookup/served_handles.h"
#include "manifest/recorded_trees.h"
#include "manifest/recorder.h"
#include "manifest/source_tree.h"
#include "obtainer.h"
#include "queue/compile_control.h"
#include "queue/repeated_preludes.h"
#include "source/header_files.h"
#include "source/query.h"
#include "vendor/installed_compiler.h"

namespace kiln {

/// From a query to its artifact; writes down what was asked for where that is wanted. Safe to use from any thread.
class Pipeline {
 public:
  /// What it works with; borrowed.
  struct Tools {
    const Reporter& reporter;
    InstalledCompiler& compiler;
    Layers& layers;
    CompileService& service;
    HeaderFiles& files;
    const RecordedTrees& recorded;
    Obtainer& obtainer;
  };

  Pipeline(const Settings& settings, const Tools& tools);

  /// What this handle was served before, where this process still keeps it.
  [[nodiscard]] std::optional<ServedArtifact> served_before(const Program& program,
                                                            const Target& target);

  /// What can be had without a compiler; nothing for a miss, which is not counted.
  [[nodiscard]] std::optional<ServedArtifact> at_hand(const Query& query);

  /// As at_hand(), for the first of several queries that any layer serves with something that the driver
  /// takes; what is written down is that `asked` was.
  [[nodiscard]] std::optional<ServedArtifact> stored(const Query& query, const Query& asked,
                                                     const Loading& loading);

  /// Looks up, or compiles and stores: once for all threads and processes that ask together. Errors: those
  /// of Runtime::compile(), cancelled.
  [[nodiscard]] Result<ServedArtifact> obtain(const Query& query, const CompileControl& control);

  /// Runtime::explain().
  [[nodiscard]] Explanation explain(const Query& query);

  /// The driver does not take this image: no layer serves it any more.
  void forget(const Digest& key);

  /// Preludes that repeat are announced here.
  [[nodiscard]] RepeatedPreludes& repeated_preludes() noexcept { return repeated_preludes_; }

 private:
  void record(Compilation& asked, const Result<ServedArtifact>& obtained);
  [[nodiscard]] Outcome check_source(const Program& program, const Artifact& artifact) const;

  const Tools tools_;
  const bool checks_sources_;
  const EligibleToolchains eligible_;
  std::optional<Recorder> recorder_;
  const std::unique_ptr<SourcesDirectory> sources_;  ///< Null where nobody wants them laid out.
  ServedHandles served_;
  RepeatedPreludes repeated_preludes_;
  const Compilation::Tools compilation_;
};

}  // namespace kiln
