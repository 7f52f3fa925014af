#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "kiln/nvrtc.h"
#include "kiln/runtime.h"
#include "nvrtc_api/nvrtc_options.h"

namespace kiln::nvrtc_api {

/// The runtime behind NVRTC's functions: opened by the first call, with the environment's settings.
[[nodiscard]] Result<Runtime>& runtime();

/// 100 * major + minor of this machine's NVRTC, from the names of its files; 0 where there is none.
[[nodiscard]] int version();

/// What an nvrtcProgram points to. Safe to use from any thread.
class ShimProgram {
 public:
  /// `name` is as NVRTC's caller knows it.
  ShimProgram(std::string name, std::string source, HeaderSet headers);

  nvrtcResult add_expression(const char* expression);
  nvrtcResult compile(std::span<const char* const> options);
  nvrtcResult find_lowered_name(const char* expression, const char*& lowered) const;
  /// Leaves `image` empty where the last compile gave none of this kind.
  nvrtcResult find_image(ImageKind kind, Bytes& image);
  [[nodiscard]] std::string log() const;

 private:
  nvrtcResult compile(Options options);
  [[nodiscard]] ProgramSpec spec_with(Options options) const;
  [[nodiscard]] bool quotes_file_beside() const;
  nvrtcResult obtain(ImageKind kind);
  nvrtcResult fail(const Error& error);
  void take_log(std::string log);

  mutable std::mutex mutex_;
  const std::string name_;
  const std::filesystem::path folder_;
  ProgramSpec spec_;  ///< Without what options say.
  std::string arch_;
  std::optional<Program> program_;  ///< As last compiled.
  std::map<ImageKind, Bytes> images_;
  std::map<std::string, std::string, std::less<>>
      lowered_;  ///< Only grows: callers hold its texts.
  std::string log_;
  bool takes_expressions_ = true;
  bool has_lowered_names_ = false;
};

}  // namespace kiln::nvrtc_api
