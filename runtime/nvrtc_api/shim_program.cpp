#include "nvrtc_api/shim_program.h"

#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace kiln::nvrtc_api {

namespace {

namespace fs = std::filesystem;

// kiln's names are relative: what climbs out, or is absolute, keeps its last part.
std::string name_in_kiln(const fs::path& name) {
  const auto normal = name.lexically_normal();
  const bool climbs = normal.is_absolute() || *normal.begin() == "..";
  const auto own = climbs ? normal.filename() : normal;
  return own.has_filename() ? own.string() : "default_program";
}

// Whether a directive quotes a file of the folder.
bool quotes_file_of(const fs::path& folder, std::string_view text) {
  for (auto at = text.find('#'); at != text.npos; at = text.find('#', at + 1)) {
    const auto line = text.substr(at, text.find('\n', at) - at);
    const auto open = line.find('"');
    const auto close = open == line.npos ? open : line.find('"', open + 1);
    if (close == line.npos) continue;
    std::error_code ignored;
    if (fs::is_regular_file(folder / line.substr(open + 1, close - open - 1), ignored)) return true;
  }
  return false;
}

nvrtcResult result_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::invalid_option:
    case ErrorCode::unknown_arch:
      return error.vendor_code == 0 ? NVRTC_ERROR_INVALID_OPTION
                                    : static_cast<nvrtcResult>(error.vendor_code);
    // One of a name expression, say: NVRTC finds it out when it compiles.
    case ErrorCode::invalid_argument:
    case ErrorCode::unknown_kernel:
    case ErrorCode::header_not_found:
    case ErrorCode::compile_failed:
      return error.vendor_code == 0 ? NVRTC_ERROR_COMPILATION
                                    : static_cast<nvrtcResult>(error.vendor_code);
    case ErrorCode::cancelled:
      return NVRTC_ERROR_CANCELLED;
    default:
      return NVRTC_ERROR_INTERNAL_ERROR;
  }
}

// What NVRTC compiles for where nothing is said.
std::string default_arch() {
  return version() != 0 && version() < 1300 ? "compute_52" : "compute_75";
}

bool is_arch(std::string_view arch) {
  return arch.starts_with("sm_") || arch.starts_with("compute_");
}

ImageKind kind_of(const Options& options) {
  if (options.ltoir) return ImageKind::ltoir;
  if (options.optixir) return ImageKind::optixir;
  return options.arch.starts_with("sm_") ? ImageKind::cubin : ImageKind::ptx;
}

}  // namespace

Result<Runtime>& runtime() {
  static Result<Runtime> opened = Runtime::open();
  return opened;
}

int version() {
  int major = 0;
  int minor = 0;
  if (auto& opened = runtime())
    std::sscanf(opened->toolchain().c_str(), "NVRTC %d.%d", &major, &minor);
  return 100 * major + minor;
}

ShimProgram::ShimProgram(std::string name, std::string source, HeaderSet headers)
    : name_(std::move(name)), folder_(fs::path(name_).parent_path()) {
  spec_.name = name_in_kiln(name_);
  spec_.source = std::move(source);
  spec_.headers = {std::move(headers)};
  // NVRTC searches no toolkit that it was not told of.
  spec_.toolkit_headers = false;
}

nvrtcResult ShimProgram::add_expression(const char* expression) {
  const std::lock_guard lock(mutex_);
  if (!takes_expressions_) return NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
  spec_.kernels.emplace_back(expression);
  return NVRTC_SUCCESS;
}

nvrtcResult ShimProgram::compile(std::span<const char* const> options) {
  const std::lock_guard lock(mutex_);
  images_.clear();
  log_.clear();
  auto read = read_options(options);
  if (!read) return fail({ErrorCode::invalid_option, "an option is a null pointer"});
  const auto result = compile(std::move(*read));
  // From here on the expressions are what was compiled, well or not.
  if (result == NVRTC_SUCCESS || result == NVRTC_ERROR_COMPILATION) takes_expressions_ = false;
  return result;
}

nvrtcResult ShimProgram::compile(Options options) {
  if (options.ltoir && options.optixir) {
    return fail(
        {ErrorCode::invalid_option, {}, "nvrtc: error: -dlto is not compatible with -optix-ir\n"});
  }
  if (options.arch.empty()) options.arch = default_arch();
  if (!is_arch(options.arch)) {
    return fail({ErrorCode::unknown_arch,
                 {},
                 "nvrtc: error: invalid value for --gpu-architecture (-arch)\n"});
  }
  arch_ = options.arch;
  const auto kind = kind_of(options);
  auto program = Program::make(spec_with(std::move(options)));
  if (!program) return fail(program.error());
  program_ = std::move(*program);
  return obtain(kind);
}

ProgramSpec ShimProgram::spec_with(Options options) const {
  auto spec = spec_;
  if (!options.included.empty()) spec.source.insert(0, std::move(options.included) + "#line 1\n");
  spec.options = std::move(options.to_compiler);
  spec.include_dirs = std::move(options.include_dirs);
  // kiln's sources lie in no folder.
  if (options.beside_source && (quotes_file_of(folder_, spec.source) || quotes_file_beside()))
    spec.include_dirs.insert(spec.include_dirs.begin(), folder_.empty() ? "." : folder_);
  return spec;
}

// NVRTC looks there for what embedded headers quote, too.
bool ShimProgram::quotes_file_beside() const {
  for (const auto& header : spec_.headers.front().headers()) {
    if (quotes_file_of(folder_, header.text())) return true;
  }
  return false;
}

nvrtcResult ShimProgram::obtain(ImageKind kind) {
  auto& opened = runtime();
  if (!opened) return fail(opened.error());
  const auto target = Target::parse(arch_, kind);
  if (!target) return fail(target.error());
  auto artifact = opened->compile(*program_, *target);
  if (!artifact) return fail(artifact.error());
  for (const auto& expression : spec_.kernels) {
    if (const auto* kernel = artifact->find(expression))
      lowered_.emplace(expression, kernel->symbol);
  }
  has_lowered_names_ = true;
  // The log is that of the compile that was asked for: callers may have its size already.
  if (images_.empty()) take_log(std::move(artifact->log));
  images_[kind] = std::move(artifact->image);
  return NVRTC_SUCCESS;
}

nvrtcResult ShimProgram::fail(const Error& error) {
  take_log(error.log.empty() ? error.message + '\n' : error.log);
  return result_of(error);
}

void ShimProgram::take_log(std::string log) {
  const auto in_kiln = "/kiln/" + spec_.name;
  for (auto at = log.find(in_kiln); at != log.npos; at = log.find(in_kiln, at + name_.size()))
    log.replace(at, in_kiln.size(), name_);
  log_ = std::move(log);
}

nvrtcResult ShimProgram::find_lowered_name(const char* expression, const char*& lowered) const {
  const std::lock_guard lock(mutex_);
  if (!has_lowered_names_) return NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
  const auto at = lowered_.find(std::string_view(expression));
  if (at == lowered_.end()) return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
  lowered = at->second.c_str();
  return NVRTC_SUCCESS;
}

nvrtcResult ShimProgram::find_image(ImageKind kind, Bytes& image) {
  const std::lock_guard lock(mutex_);
  if (kind == ImageKind::ptx && images_.contains(ImageKind::cubin) && !images_.contains(kind)) {
    if (const auto result = obtain(kind); result != NVRTC_SUCCESS) return result;
  }
  if (const auto at = images_.find(kind); at != images_.end()) image = at->second;
  return NVRTC_SUCCESS;
}

std::string ShimProgram::log() const {
  const std::lock_guard lock(mutex_);
  return log_;
}

}  // namespace kiln::nvrtc_api
