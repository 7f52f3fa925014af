#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "compile/compile_job.h"
#include "compile/compile_service.h"
#include "image/toolchains.h"
#include "kiln/cache.h"
#include "kiln/explain.h"
#include "lookup/fitness.h"
#include "lookup/layers.h"
#include "making.h"
#include "manifest/recorded_trees.h"
#include "manifest/source_tree.h"
#include "queue/repeated_preludes.h"
#include "source/closure.h"
#include "source/header_files.h"
#include "source/query.h"
#include "source/reading.h"
#include "vendor/installed_compiler.h"

namespace kiln {

/// How a program's artifact is looked up and compiled.
class Compilation final : public Making {
 public:
  /// What all compilations of a runtime work with; borrowed.
  struct Tools {
    InstalledCompiler& compiler;
    const EligibleToolchains& eligible;
    Layers& layers;
    CompileService& service;
    HeaderFiles& files;
    const RecordedTrees& recorded;
    RepeatedPreludes& repeated_preludes;
    bool precompiles;           ///< Whether preludes may be precompiled at all.
    SourcesDirectory* sources;  ///< Null where nobody wants them laid out.
  };

  /// Borrows all but the last, which CompileControl describes.
  Compilation(const Query& query, const Tools& tools, std::function<void()> when_compiled = {});

  /// Of an image that is to be loaded.
  Compilation(const Query& query, const Tools& tools, const Loading& loading);

  [[nodiscard]] const Query& query() const noexcept { return query_; }

  /// What the program may read, as it was when that was first asked for. Costs a scan of it all.
  [[nodiscard]] const Closure& closure();

  /// Runtime::explain(), but for handles that were served before.
  [[nodiscard]] Explanation explain();
  [[nodiscard]] Explanation explain_hit(const Artifact& artifact, Origin origin,
                                        std::string remark);

  [[nodiscard]] tl::expected<Found, Miss> look_up() override;
  [[nodiscard]] tl::expected<Found, Miss> fetch(Heard heard) override;
  [[nodiscard]] Digest flight() const override { return query_.flight(); }
  [[nodiscard]] Result<const Toolchain*> maker() const override {
    return tools_.compiler.identity();
  }
  [[nodiscard]] Result<Made> make(const std::stop_token& stop, LookUpCounters& counters) override;
  [[nodiscard]] Explanation explain_miss(std::string why_not) override;

 private:
  [[nodiscard]] tl::expected<Found, Miss> ask(
      Layers::Ask ask,
      std::chrono::steady_clock::time_point end = std::chrono::steady_clock::time_point::max());
  [[nodiscard]] Explanation explain_miss(std::string why_not, const AlikeLimits& limits);
  [[nodiscard]] const std::shared_ptr<const HeaderText>& source();
  [[nodiscard]] bool prelude_repeats();
  void count_prelude(const CompileOutcome& compiled);
  [[nodiscard]] CompileJob job();
  [[nodiscard]] Result<CompileOutcome> run(const std::stop_token& stop);
  [[nodiscard]] Closure what_was_read(const std::optional<Readings>& readings);

  const Query& query_;
  const Tools& tools_;
  const std::function<void()> when_compiled_;
  const std::optional<Loading> loading_;
  std::shared_ptr<const HeaderText> source_;  ///< Scanned when it is first asked for.
  std::optional<Digest> prelude_;             ///< Where it might be precompiled.
  std::optional<Closure> closure_;
  Closure read_;  ///< By the compile.
};

}  // namespace kiln
