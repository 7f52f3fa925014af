#include "compile/nvrtc_compile.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/stopwatch.h"
#include "compile/missing_header.h"
#include "image/kernel_facts.h"
#include "program/architecture.h"
#include "source/characters.h"
#include "source/kernel_declarations.h"
#include "system/nearest_name.h"
#include "vendor/sized_read.h"

namespace kiln {

namespace {

using vendor::Nvrtc;
using vendor::read_bytes;
using vendor::read_text;

// Owns an nvrtcProgram.
class NvrtcProgram {
 public:
  explicit NvrtcProgram(const Nvrtc& nvrtc) : nvrtc_(nvrtc) {}
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;
  ~NvrtcProgram() {
    if (program_ != nullptr) nvrtc_.destroy_program(&program_);
  }

  nvrtcResult create(const CompileJob& job) {
    std::vector<const char*> names;
    std::vector<const char*> texts;
    for (const auto& header : job.embedded) {
      names.push_back(header.name.c_str());
      texts.push_back(header.text.c_str());
    }
    return nvrtc_.create_program(&program_, job.source.c_str(), virtual_name(job.program).c_str(),
                                 static_cast<int>(names.size()), texts.data(), names.data());
  }

  /// `stop` must outlive the compile: NVRTC asks now and then whether to go on.
  void end_when(const std::stop_token& stop) {
    if (nvrtc_.set_flow_callback == nullptr || !stop.stop_possible()) return;
    const auto is_over = [](void* token, void*) {
      return static_cast<const std::stop_token*>(token)->stop_requested() ? 1 : 0;
    };
    nvrtc_.set_flow_callback(program_, is_over, const_cast<std::stop_token*>(&stop));
  }

  [[nodiscard]] nvrtcProgram get() const { return program_; }

 private:
  const Nvrtc& nvrtc_;
  nvrtcProgram program_ = nullptr;
};

std::vector<std::string> all_options(const Nvrtc& nvrtc, const CompileJob& job,
                                     const std::vector<std::string>& include_dirs) {
  // kiln's own come first, so that no option that lacks its value can swallow one.
  std::vector<std::string> options{"--gpu-architecture=" + job.arch};
  if (job.kind == ImageKind::ltoir) options.emplace_back("-dlto");
  if (job.kind == ImageKind::optixir) options.emplace_back("--optix-ir");
  if (nvrtc.has_own_cache()) options.emplace_back("--no-cache");
  if (nvrtc.has_random_seed()) options.push_back("-frandom-seed=" + job.seed.hex());
  for (const auto& directory : include_dirs) options.push_back("-I" + directory);
  if (job.include_dirs.empty()) options.push_back(fmt::format("-I{}", no_directory));
  options.insert(options.end(), job.options.begin(), job.options.end());
  return options;
}

std::optional<std::string> read_image(const Nvrtc& nvrtc, nvrtcProgram program, ImageKind kind) {
  switch (kind) {
    case ImageKind::cubin:
      return read_bytes(program, nvrtc.get_cubin_size, nvrtc.get_cubin);
    case ImageKind::ptx:
      return read_text(program, nvrtc.get_ptx_size, nvrtc.get_ptx);
    case ImageKind::ltoir:
      return read_bytes(program, nvrtc.get_ltoir_size, nvrtc.get_ltoir);
    case ImageKind::optixir:
      return read_bytes(program, nvrtc.get_optixir_size, nvrtc.get_optixir);
    case ImageKind::fatbin:
      break;  // No compiler makes one: it is packed of what compilers made.
  }
  return std::nullopt;
}

tl::unexpected<Error> unknown_arch(const Nvrtc& nvrtc, const std::string& arch,
                                   const std::string& log, nvrtcResult result) {
  std::vector<std::string> known;
  for (const int version : nvrtc.supported_archs()) known.push_back(fmt::format("sm_{}", version));
  return fail(
      ErrorCode::unknown_arch,
      fmt::format(
          "{} does not know the architecture '{}'. It knows {}, and of the newer ones the variants "
          "with {}",
          nvrtc.text(), arch, fmt::join(known, ", "),
          nvrtc.has_family_targets() ? "'a' and 'f'" : "'a'; those with 'f' came with NVRTC 12.9"),
      log, result);
}

// What stands between `before` and `after` in the log; empty if it does not say so.
std::string_view excerpt(std::string_view log, std::string_view before, std::string_view after) {
  const auto at = log.find(before);
  if (at == std::string_view::npos) return {};
  const auto rest = log.substr(at + before.size());
  return rest.substr(0, rest.find(after));
}

std::string without_blanks(std::string_view text) {
  std::string squeezed;
  std::copy_if(text.begin(), text.end(), std::back_inserter(squeezed),
               [](unsigned char c) { return std::isspace(c) == 0; });
  return squeezed;
}

// NVRTC spells a bad expression token by token; the program's own spelling says more.
std::string own_spelling(const CompileJob& job, std::string_view expression) {
  for (const auto& own : job.expressions) {
    if (without_blanks(own) == without_blanks(expression)) return own;
  }
  return std::string(expression);
}

std::string as_expression(const KernelDeclaration& kernel) {
  return kernel.scope + kernel.name + (kernel.is_template ? "<…>" : "");
}

// The kernel that was probably meant, of another namespace or of nearly this name; else all that the source declares. Nothing
// where it is declared, and its arguments are wrong: that is in the log.
std::string meant_by(std::string_view expression, const CompileJob& job) {
  const auto arguments = expression.find('<');
  auto asked = trimmed(expression.substr(0, arguments));
  if (asked.starts_with("::")) asked.remove_prefix(2);
  const auto colon = asked.rfind(':');
  const auto name = colon == std::string_view::npos ? asked : asked.substr(colon + 1);
  const auto kernels = kernel_declarations(job.source);
  std::vector<std::string> names;
  std::vector<std::string> expressions;
  for (const auto& kernel : kernels) {
    if (kernel.scope + kernel.name == asked) {
      return kernel.is_template && arguments == std::string_view::npos
                 ? fmt::format("; it is a template: name an instance of it, {}",
                               as_expression(kernel))
                 : "";
    }
    names.push_back(kernel.name);
    expressions.push_back(as_expression(kernel));
  }
  if (names.empty()) return "";
  const auto nearest = system::nearest_name(name, names);
  if (!nearest) return fmt::format("; its source declares {}", fmt::join(expressions, ", "));
  const auto at = std::find(names.begin(), names.end(), *nearest) - names.begin();
  return fmt::format("; did you mean {}?", expressions[static_cast<std::size_t>(at)]);
}

// What was said of the source, and the first error of an expression, without the text that nobody wrote: NVRTC puts it into a
// pragma of its own. The other errors follow from the first.
std::string first_of_expression(std::string_view log) {
  constexpr std::string_view pragma = "#pragma nv_mangled_name ";
  std::string first(excerpt(log, ": error: ", "\n\n"));
  first.insert(0, "error: ");
  if (const auto at = first.find(pragma); at != std::string::npos)
    first.replace(at, pragma.size(), std::string(pragma.size(), ' '));
  return std::string(log.substr(0, log.find("__nv_name_map("))) + first + '\n';
}

// Empty also where the source has errors of its own: those come first, and may be the reason.
std::string_view bad_expression(std::string_view log) {
  std::size_t errors = 0;
  for (auto at = log.find(": error: "); at != std::string_view::npos;
       at = log.find(": error: ", at + 1)) {
    const auto line = log.substr(log.rfind('\n', at) + 1);
    if (!line.starts_with("__nv_name_map(")) return {};
    ++errors;
  }
  return errors == 0 ? std::string_view{} : excerpt(log, "Input name expression was: \"", "\"");
}

std::string_view missing_header(std::string_view log) {
  for (const std::string_view words :
       {"could not open source file \"", "cannot open source file \""}) {
    if (const auto name = excerpt(log, words, "\""); !name.empty()) return name;
  }
  return {};
}

// NVRTC itself says the first of what is no architecture; its front end says the second of a variant that it lacks.
bool refuses_arch(std::string_view log) {
  return log.find("invalid value for --gpu-architecture") != std::string_view::npos ||
         log.find("specified with --nv_arch flag") != std::string_view::npos;
}

// The log's first line that says "error"; where none does, NVRTC's name for the failure.
std::string_view first_error(const Nvrtc& nvrtc, std::string_view log, nvrtcResult result) {
  const auto at = log.find("error");
  if (at == std::string_view::npos) return nvrtc.get_error_string(result);
  const auto line = log.substr(log.rfind('\n', at) + 1);
  return line.substr(0, line.find('\n'));
}

tl::unexpected<Error> describe_failure(const Nvrtc& nvrtc, const CompileJob& job,
                                       nvrtcResult result, const std::string& log) {
  if (refuses_arch(log)) return unknown_arch(nvrtc, job.arch, log, result);
  const auto options = fmt::format("{}", fmt::join(all_options(nvrtc, job, job.include_dirs), " "));
  if (result == NVRTC_ERROR_INVALID_OPTION) {
    return fail(ErrorCode::invalid_option, job,
                fmt::format("{} refuses an option; the options were: {}", nvrtc.text(), options),
                log, result);
  }
  if (const auto name = bad_expression(log); !name.empty()) {
    const auto expression = own_spelling(job, name);
    return fail(ErrorCode::unknown_kernel, job,
                fmt::format("the name expression '{}' does not name a kernel of the program{}",
                            expression, meant_by(expression, job)),
                first_of_expression(log), result);
  }
  if (const auto name = missing_header(log); !name.empty()) {
    return fail(
        ErrorCode::header_not_found, job,
        fmt::format("the header \"{}\" was not found. Looked among {} embedded headers that the "
                    "program reaches, and in {}. {}",
                    name, job.embedded.size(),
                    job.include_dirs.empty() ? "no directory"
                                             : fmt::format("{}", fmt::join(job.include_dirs, ", ")),
                    remedy_for_missing_header(name, job.include_dirs, nvrtc.major)),
        log, result);
  }
  return fail(ErrorCode::compile_failed, job,
              fmt::format("{} could not compile it: {}; the options were: {}", nvrtc.text(),
                          first_error(nvrtc, log, result), options),
              log, result);
}

}  // namespace

Result<CompileOutcome> compile(const Nvrtc& nvrtc, const CompileJob& job,
                               const std::vector<std::string>& own_options, const NamedRoots* roots,
                               const std::stop_token& stop) {
  const auto archs = nvrtc.supported_archs();
  const auto arch = read_architecture(job.arch);
  if (!arch || std::find(archs.begin(), archs.end(), arch->version) == archs.end()) {
    return unknown_arch(nvrtc, job.arch, {}, NVRTC_ERROR_INVALID_OPTION);
  }
  const Stopwatch watch;
  NvrtcProgram handle(nvrtc);
  if (const auto made = handle.create(job); made != NVRTC_SUCCESS) {
    return describe_failure(nvrtc, job, made, {});
  }
  for (const auto& expression : job.expressions) {
    if (nvrtc.add_name_expression(handle.get(), expression.c_str()) != NVRTC_SUCCESS) {
      return fail(ErrorCode::unknown_kernel,
                  fmt::format("{}: {} does not take the name expression '{}'", job.program,
                              nvrtc.text(), expression));
    }
  }
  handle.end_when(stop);
  const auto options =
      all_options(nvrtc, job, roots != nullptr ? roots->names() : job.include_dirs);
  std::vector<const char*> pointers;
  pointers.reserve(own_options.size() + options.size());
  for (const auto& option : own_options) pointers.push_back(option.c_str());
  for (const auto& option : options) pointers.push_back(option.c_str());
  const auto result =
      nvrtc.compile_program(handle.get(), static_cast<int>(pointers.size()), pointers.data());
  if (stop.stop_requested()) return cancelled(job);
  auto log =
      read_text(handle.get(), nvrtc.get_program_log_size, nvrtc.get_program_log).value_or("");
  if (result != NVRTC_SUCCESS) {
    return describe_failure(nvrtc, job, result, log);
  }

  Artifact artifact;
  artifact.program = job.program;
  artifact.arch = job.arch;
  artifact.kind = to_string(job.kind);
  artifact.log = std::move(log);
  for (const auto& expression : job.expressions) {
    const char* lowered = nullptr;
    if (nvrtc.get_lowered_name(handle.get(), expression.c_str(), &lowered) != NVRTC_SUCCESS ||
        lowered == nullptr) {
      return fail(ErrorCode::unknown_kernel, fmt::format("{}: {} gives no lowered name for '{}'",
                                                         job.program, nvrtc.text(), expression));
    }
    artifact.kernels.push_back({.expression = expression, .symbol = lowered});
  }
  auto image = read_image(nvrtc, handle.get(), job.kind);
  if (!image || image->empty()) {
    return fail(ErrorCode::compile_failed,
                fmt::format("{}: {} gave no {} for {}; the options were: {}", job.program,
                            nvrtc.text(), artifact.kind, job.arch,
                            fmt::join(all_options(nvrtc, job, job.include_dirs), " ")),
                artifact.log);
  }
  artifact.image = std::move(*image);
  add_facts(artifact, job.expressions.empty());
  if (const auto* without = kernel_without_code(artifact); without != nullptr) {
    return fail(ErrorCode::compile_failed,
                fmt::format("{}: {} made no code of kernel '{}' for {}; the options were: {}",
                            job.program, nvrtc.text(), without->expression, job.arch,
                            fmt::join(all_options(nvrtc, job, job.include_dirs), " ")),
                artifact.log);
  }
  artifact.compile_us = watch.microseconds();
  return CompileOutcome{std::move(artifact)};
}

}  // namespace kiln
