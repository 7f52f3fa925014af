#include "report.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "decoder_text.h"

namespace demo {

namespace {

namespace fs = std::filesystem;

/// As a word of a command line.
std::string quoted(const std::string& word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string(R"('\'')") : std::string(1, c);
  return text + "'";
}

/// As a person would name it from the working directory: below that by its relative path, else by the whole one.
std::string from_here(const fs::path& path) {
  const fs::path relative = path.lexically_relative(fs::current_path());
  return relative.empty() || *relative.begin() == ".." ? path.string() : relative.string();
}

/// So that a shell does not look for a program elsewhere, and nobody takes a path for an option.
std::string as_path(const std::string& name) {
  return name.front() == '-' || name.find('/') == std::string::npos ? "./" + name : name;
}

/// Microseconds.
struct Times {
  double cold = 0;
  double warm = 0;
};

Times times(const Report& report) {
  Times sums;
  for (const Image& image : report.cold) {
    sums.cold += static_cast<double>(image.artifact.compile_us);
  }
  for (const Served::Image& image : report.warm.images) sums.warm += image.microseconds;
  return sums;
}

std::size_t count_wrong(const GpuRun& run) {
  return std::ranges::count_if(run.kernels, [](const CheckedKernel& k) { return !k.right(); });
}

std::string summary(const Report& report) {
  const auto found = faults(report);
  if (!found.empty()) return fmt::format("{}", fmt::join(found, "; "));
  return fmt::format("{} kernels in {} images: compiled once, then served to a second process",
                     kernel_count(report.cold), report.cold.size());
}

std::string summary_of_times(const Report& report) {
  const auto [cold, warm] = times(report);
  return fmt::format("cold {:.2f} s | warm {:.1f} ms, {:.0f} times less | second process {:.1f} ms",
                     cold / 1e6, warm / 1e3, cold / warm, report.warm.process_microseconds / 1e3);
}

std::string summary_of(const std::optional<KeptCache>& kept, std::size_t asked) {
  if (!kept) return "none is kept: --cache names one that is";
  return fmt::format("{}: {} images, {:.0f} KiB; an earlier run had left {} of the {}",
                     from_here(kept->path), kept->entries,
                     static_cast<double>(kept->stored_bytes) / 1024, kept->left, asked);
}

std::string rows_of(const Image& image, const Served::Image& warm) {
  const kiln::Artifact& artifact = image.artifact;
  // What belongs to the whole image stands on its first line.
  std::string of_image =
      fmt::format("{:>7} {:>8.1f} {:>7.0f}", artifact.image.size(),
                  static_cast<double>(artifact.compile_us) / 1000, warm.microseconds);
  std::string text;
  for (const kiln::KernelInfo& kernel : artifact.kernels) {
    text += fmt::format("{:<42} {:<7} {:>4}{}{}\n", kernel.expression, artifact.arch,
                        kernel.registers, of_image.empty() ? "" : " ", of_image);
    of_image.clear();
  }
  return text;
}

std::string rows_of(const GpuRun& run) {
  std::string text =
      fmt::format("\n{:<42} {:>10} {:>10}\n", "on the GPU", "max error", "tolerance");
  for (const CheckedKernel& kernel : run.kernels) {
    text += fmt::format("{:<42} {:>10.2e} {:>10.2e}{}\n", kernel.expression, kernel.error,
                        kernel.tolerance, kernel.right() ? "" : "  WRONG");
  }
  return text + fmt::format("{:<42} {:>10.2e} {:>10.2e}{}\n", "the decoder's logits",
                            run.comparison.error, run.comparison.tolerance,
                            run.comparison.right() ? "" : "  WRONG");
}

}  // namespace

std::vector<std::string> faults(const Report& report) {
  std::vector<std::string> found;
  const auto tell = [&](std::size_t count, std::string_view what) {
    if (count > 0) found.push_back(fmt::format("{} {}", count, what));
  };
  tell(std::ranges::count_if(report.cold, &Image::served), "images were not compiled anew");
  tell(std::ranges::count(report.warm.images, false, &Served::Image::served),
       "images were not served to the second process");
  if (report.gpu) {
    tell(count_wrong(*report.gpu), "kernels are WRONG on the GPU");
    if (!report.gpu->comparison.right()) found.emplace_back("the decoder's logits are WRONG");
  }
  return found;
}

std::string verdict(const Report& report, bool bold) {
  const std::pair<std::string, std::string> lines[] = {
      {faults(report).empty() ? "right" : "WRONG", summary(report)},
      {"time", summary_of_times(report)},
      {"text", text_of(report.text)},
      {"by", report.by},
      {"cache", summary_of(report.kept, report.cold.size())}};
  std::string text;
  for (const auto& [label, line] : lines) {
    text += bold ? fmt::format("\x1b[1m{:<6}\x1b[0m {}\n", label, line)
                 : fmt::format("{:<6} {}\n", label, line);
  }
  return text;
}

std::string rows(const Report& report) {
  std::string text = fmt::format("{:<42} {:<7} {:>4} {:>7} {:>8} {:>7}\n", "kernel", "arch", "regs",
                                 "bytes", "cold ms", "warm us");
  for (std::size_t i = 0; i < report.cold.size(); ++i) {
    text += rows_of(report.cold[i], report.warm.images.at(i));
  }
  return report.gpu ? text + rows_of(*report.gpu) : text;
}

std::vector<std::string> next_commands(const Report& report) {
  const fs::path tool = fs::read_symlink("/proc/self/exe").replace_filename("kiln");
  const std::string start = fmt::format("{} --cache {} ", quoted(as_path(from_here(tool))),
                                        quoted(as_path(from_here(report.kept->path))));
  const std::string key = report.cold.front().artifact.key.hex().substr(0, 12);
  return {start + "ls", start + "show " + key, start + "stats"};
}

}  // namespace demo
