#include "verbs/store.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "kiln/runtime.h"
#include "output.h"
#include "verbs/inspect.h"

namespace kiln::cli {

namespace {

// As `kiln config` shows it.
std::string shown(const Globals& globals, std::string_view url) {
  auto options = asked_settings(globals);
  auto& remotes = options.remotes.emplace();
  // There a space stands between two stores.
  for (const char character : url) remotes += character == ' ' ? "%20" : std::string(1, character);
  const auto settings = resolve_settings(options).value();
  const auto listed = std::ranges::find(settings.listing, "KILN_REMOTE", &Setting::variable);
  return listed->value;
}

std::vector<std::string> urls_in(std::string_view remotes) {
  std::vector<std::string> urls;
  while (!remotes.empty()) {
    const auto url = remotes.substr(0, remotes.find(' '));
    if (!url.empty()) urls.emplace_back(url);
    remotes.remove_prefix(std::min(url.size() + 1, remotes.size()));
  }
  return urls;
}

std::string first_of(const Settings& settings) {
  auto urls = urls_in(settings.remotes);
  if (!urls.empty()) return std::move(urls.front());
  refuse(ErrorCode::invalid_argument,
         "no store is named: give its URL, such as file:///mnt/kernels or redis://cache.example, "
         "or set KILN_REMOTE");
}

}  // namespace

NamedStore open_store(const Globals& globals, const std::string& url, StoreUse use) {
  const auto settings = settings_of(globals);
  const auto named = url == first_remote ? first_of(settings) : url;
  auto objects = kiln::open_store(named, settings, use).value();
  return {std::move(objects), shown(globals, named)};
}

std::vector<StoreOffers> offers_of_remotes(const Globals& globals, const Request& request) {
  const auto settings = settings_of(globals);
  std::vector<StoreOffers> all;
  for (const auto& url : urls_in(settings.remotes)) {
    const auto store = kiln::open_store(url, settings, StoreUse::look);
    const auto offers = store ? Offer::list(**store, request)
                              : Result<std::vector<Offer>>(tl::unexpected(store.error()));
    all.push_back({shown(globals, url),
                   offers.map([](const std::vector<Offer>& list) { return list.size(); })});
  }
  return all;
}

ExchangeProgress show_in(std::optional<Progress>& progress, const Globals& globals) {
  return [&](std::size_t done, std::size_t total) {
    if (!progress) progress.emplace(shape_of_progress(globals), total);
    progress->show(done, done, 0, {});
  };
}

}  // namespace kiln::cli
