#include "verbs/store.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kiln/runtime.h"
#include "output.h"
#include "verbs/inspect.h"
#include "verbs/prewarm_plan.h"

namespace kiln::cli {

namespace {

constexpr std::string_view file_scheme = "file://";

std::filesystem::path folder_of(const std::string& url) {
  if (url.starts_with(file_scheme)) {
    std::filesystem::path folder = url.substr(file_scheme.size());
    if (folder.is_absolute()) return folder;
  }
  refuse(ErrorCode::invalid_argument,
         fmt::format("'{}' names no store: name a folder, such as file:///mnt/kernels", url));
}

}  // namespace

std::unique_ptr<ObjectStore> open_store(const Globals& globals, const std::string& url,
                                        bool create) {
  const auto settings = settings_of(globals);
  return open_file_store(folder_of(url), {.create = create,
                                          .trust = settings.cache_trust,
                                          .trusted_keys = settings.trusted_keys})
      .value();
}

ExchangeProgress show_in(std::optional<Progress>& progress, const Globals& globals) {
  return [&](std::size_t done, std::size_t total) {
    if (!progress) progress.emplace(shape_of_progress(globals), total);
    progress->show(done, done, 0, {});
  };
}

WantedRequests wanted_requests(const Globals& globals, const StoreWords& words) {
  WantedRequests wanted;
  if (words.manifests.empty()) {
    if (!words.archs.empty() || !words.image.empty())
      refuse(ErrorCode::invalid_argument, "--arch and --image are for manifests: name one");
    return wanted;
  }
  PrewarmSources sources{words.manifests, std::nullopt, words.archs, std::nullopt, {}};
  if (!words.image.empty()) sources.image = value_of("--image", parse_image_kind(words.image));
  auto runtime = open_runtime_to_look(globals);
  const auto plan = plan_prewarm(runtime, sources);
  std::vector<std::string> faults;
  for (const auto& failure : plan.failures)
    faults.push_back(
        fmt::format("{} for {}: {}", failure.program, failure.arch, failure.error.message));
  auto& requests = wanted.requests.emplace();
  for (const auto& item : plan.items) {
    const auto request = runtime.request(item.program, item.target);
    if (request) {
      requests.push_back(digest_of(request->material()));
    } else {
      faults.push_back(request.error().message);
    }
  }
  std::ranges::sort(requests);
  requests.erase(std::unique(requests.begin(), requests.end()), requests.end());
  warn_of_each(globals, faults);
  wanted.complete = faults.empty();
  return wanted;
}

}  // namespace kiln::cli
