#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "images.h"

namespace demo {

/// What a second process got, of what was asked for: in the order of ask_for_all().
struct Served {
  struct Image {
    bool served;          ///< By the cache; else it was compiled again.
    double microseconds;  ///< What asking for it took.
  };
  std::vector<Image> images = {};
  double process_microseconds = 0;  ///< From the process's first line to its last.
};

/// What the process says of it to people: a line, and before that, if `verbose`, a row for each image.
[[nodiscard]] std::string summary_of(const std::vector<Image>& images, double process_microseconds,
                                     bool verbose);

/// The same to the process that started it: a line of JSON.
[[nodiscard]] std::string document_of(const std::vector<Image>& images,
                                      double process_microseconds);

/// Runs this program again, as a process of its own that asks the cache for everything. What that says of errors goes
/// to standard error. Errors: std::system_error where it cannot be started, std::runtime_error where it fails.
[[nodiscard]] Served run_second_process(const std::filesystem::path& cache,
                                        const Architectures& architectures);

}  // namespace demo
