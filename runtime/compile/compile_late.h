#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>

#include "compile/compile_service.h"

namespace kiln {

/// Makes a compile service when the first job comes. Most processes find all that they ask for; to ask the machine
/// what a service needs to know would take 4 % of such a process's time.
class LateCompileService final : public CompileService {
 public:
  using Make = std::function<std::unique_ptr<CompileService>()>;

  explicit LateCompileService(Make make) : make_(std::move(make)) {}

  [[nodiscard]] std::size_t concurrency() override { return service().concurrency(); }

  [[nodiscard]] Result<CompileOutcome> run(const CompileJob& job, std::stop_token stop) override {
    return service().run(job, std::move(stop));
  }

 private:
  CompileService& service() {
    std::call_once(made_, [this] { service_ = make_(); });
    return *service_;
  }

  const Make make_;
  std::once_flag made_;
  std::unique_ptr<CompileService> service_;
};

}  // namespace kiln
