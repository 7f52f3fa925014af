#pragma once

#include <stop_token>

#include "compile_service.h"
#include "compiler_on_this_machine.h"

namespace kiln {

/// Compiles in the process that asks, where nothing can be stopped once it runs. Borrows the compiler.
class InProcessCompiler : public CompileService {
 public:
  explicit InProcessCompiler(CompilerOnThisMachine& compiler) noexcept : compiler_(compiler) {}

  [[nodiscard]] Result<CompileOutcome> run(const CompileJob& job, std::stop_token stop) override;

 private:
  CompilerOnThisMachine& compiler_;
};

}  // namespace kiln
