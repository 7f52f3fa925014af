#include "file_leases.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "exchange/store_folder.h"
#include "lease_beat.h"

namespace kiln::remote {

namespace {

using std::chrono::steady_clock;
using storage::StoreFolder;

constexpr std::size_t digits_of_generations = 8;
constexpr std::size_t digits_of_folders = 2;
/// Nobody gets there by taking a lease again and again.
constexpr auto last_generation = std::numeric_limits<std::uint32_t>::max();
const std::string beat_name = "beat";

/// Whose machine has written it does not matter: a lease is a hint.
constexpr storage::StoreReaders anybody{.of_anybody = true};

class FileLeases final : public Leases {
 public:
  FileLeases(StoreFolder folder, std::chrono::milliseconds lasts)
      : folder_(std::move(folder)), lasts_(lasts) {}

  Result<LeaseAnswer> take(const std::string& name, const std::string& token) override {
    const auto outer = folder_.make_folder(name.substr(0, digits_of_folders));
    if (!outer) return tl::unexpected(outer.error());
    const auto lease = outer->make_folder(name);
    if (!lease) return tl::unexpected(lease.error());
    const auto latest = latest_of(*lease);
    if (!latest) return tl::unexpected(latest.error());
    if (*latest == last_generation) {
      return fail(ErrorCode::cache_unusable,
                  fmt::format("store: '{}' of the lease '{}' is none of kiln's; remove it",
                              name_of(*latest), name));
    }
    if (*latest != 0) {
      const auto word = word_of(*lease, *latest);
      if (!word) return tl::unexpected(word.error());
      if (const auto answer = judge(name, *latest, *word)) return *answer;
    }
    return begin(*lease, name, *latest, token);
  }

  Result<bool> prolong(const std::string& name, const std::string& token) override {
    auto mine = held_by(name, token);
    if (!mine) return tl::unexpected(std::move(mine.error()));
    if (!*mine) return false;
    ++(*mine)->beat.count;
    auto written = write((*mine)->folder, (*mine)->beat);
    if (!written) return tl::unexpected(std::move(written.error()));
    return true;
  }

  // Where that cannot be written, as on a full disk, the generation goes: nobody shall wait for whoever holds it no more.
  Outcome release(const std::string& name, const std::string& token, bool failed) override {
    auto mine = held_by(name, token);
    if (!mine) return tl::unexpected(std::move(mine.error()));
    if (!*mine) return {};
    (*mine)->beat.state = failed ? LeaseBeat::State::failed : LeaseBeat::State::done;
    auto written = write((*mine)->folder, (*mine)->beat);
    if (!written) remove((*mine)->lease, (*mine)->generation);
    return written;
  }

 private:
  /// What the holder of a generation said, and since when he says that.
  struct Seen {
    std::uint32_t generation;
    std::string word;
    steady_clock::time_point since;
  };

  static std::string name_of(std::uint32_t generation) { return fmt::format("{:08x}", generation); }

  /// 0 where nobody ever had it.
  static Result<std::uint32_t> latest_of(const StoreFolder& lease) {
    const auto names = lease.names(digits_of_generations);
    if (!names) return tl::unexpected(names.error());
    std::uint32_t latest = 0;
    for (const auto& name : *names)
      latest = std::max(latest, static_cast<std::uint32_t>(std::stoul(name, nullptr, 16)));
    return latest;
  }

  /// Empty where none was written yet, or cannot be read.
  static Result<std::string> word_of(const StoreFolder& lease, std::uint32_t generation) {
    const auto folder = lease.folder(name_of(generation));
    if (!folder || !*folder) return std::string();
    auto word = (*folder)->read(beat_name, most_beat_bytes, anybody);
    return word && *word ? std::move(**word) : std::string();
  }

  /// Nothing where the lease may be had.
  std::optional<LeaseAnswer> judge(const std::string& name, std::uint32_t generation,
                                   const std::string& word) {
    const auto now = steady_clock::now();
    const auto state = decode_beat(word).state;
    if (state == LeaseBeat::State::done) return std::nullopt;
    if (seen_.size() >= most_seen) seen_.clear();
    auto& seen = seen_[name];
    if (seen.generation != generation || seen.word != word) seen = {generation, word, now};
    const bool failed = state == LeaseBeat::State::failed;
    const auto time =
        failed ? std::min<std::chrono::milliseconds>(telling_failure, lasts_) : lasts_;
    if (now - seen.since >= time) return std::nullopt;
    return failed ? LeaseAnswer::failed : LeaseAnswer::held;
  }

  Result<LeaseAnswer> begin(const StoreFolder& lease, const std::string& name, std::uint32_t latest,
                            const std::string& token) {
    const auto generation = latest + 1;
    const auto made = lease.make_new_folder(name_of(generation));
    if (!made) return tl::unexpected(made.error());
    if (!*made) return LeaseAnswer::held;
    auto begun = begin_in(lease, generation, token);
    // Others would wait for somebody who never says anything.
    if (begun != LeaseAnswer::taken) {
      remove(lease, generation);
      return begun;
    }
    seen_.erase(name);
    remove(lease, latest);
    return begun;
  }

  /// In a generation that this one has made.
  static Result<LeaseAnswer> begin_in(const StoreFolder& lease, std::uint32_t generation,
                                      const std::string& token) {
    // Another one may have had it meanwhile, and the next one removed that.
    const auto last = latest_of(lease);
    if (!last) return tl::unexpected(last.error());
    if (*last != generation) return LeaseAnswer::held;
    const auto folder = lease.folder(name_of(generation));
    if (!folder) return tl::unexpected(folder.error());
    if (!*folder) return LeaseAnswer::held;
    auto written = write(**folder, {token});
    if (!written) return tl::unexpected(std::move(written.error()));
    return LeaseAnswer::taken;
  }

  static Outcome write(const StoreFolder& folder, const LeaseBeat& beat) {
    auto written = folder.write(beat_name, encode_beat(beat), anybody);
    if (!written) return tl::unexpected(std::move(written.error()));
    return {};
  }

  static void remove(const StoreFolder& lease, std::uint32_t generation) {
    lease.remove_folder(name_of(generation), {beat_name});
  }

  struct Held {
    StoreFolder lease;
    std::uint32_t generation;
    StoreFolder folder;
    LeaseBeat beat;
  };

  /// Nothing where it is not this token's, or no longer.
  Result<std::optional<Held>> held_by(const std::string& name, const std::string& token) const {
    const auto outer = folder_.folder(name.substr(0, digits_of_folders));
    if (!outer) return tl::unexpected(outer.error());
    if (!*outer) return std::nullopt;
    auto lease = (*outer)->folder(name);
    if (!lease) return tl::unexpected(std::move(lease.error()));
    if (!*lease) return std::nullopt;
    const auto latest = latest_of(**lease);
    if (!latest) return tl::unexpected(latest.error());
    auto folder = (*lease)->folder(name_of(*latest));
    if (!folder) return tl::unexpected(std::move(folder.error()));
    if (!*folder) return std::nullopt;
    const auto word = (*folder)->read(beat_name, most_beat_bytes, anybody);
    if (!word) return tl::unexpected(word.error());
    auto beat = decode_beat(word->value_or(""));
    if (!beat.is_held_by(token)) return std::nullopt;
    return Held{std::move(**lease), *latest, std::move(**folder), std::move(beat)};
  }

  const StoreFolder folder_;
  const std::chrono::milliseconds lasts_;
  std::map<std::string, Seen> seen_;
};

}  // namespace

Result<std::unique_ptr<Leases>> open_file_leases(const RemoteAddress& address, bool create,
                                                 std::chrono::milliseconds lasting) {
  const auto named = StoreFolder::open(address.path());
  if (!named) return tl::unexpected(named.error());
  const auto store =
      *named ? (*named)->folder("kiln-store.v1") : Result<std::optional<StoreFolder>>(std::nullopt);
  if (!store) return tl::unexpected(store.error());
  if (!*store)
    return fail(ErrorCode::not_found, fmt::format("there is no store in '{}'", address.path()));
  if (create) {
    if (auto made = (*store)->make_folder("leases"); !made)
      return tl::unexpected(std::move(made.error()));
  }
  auto leases = (*store)->folder("leases");
  if (!leases) return tl::unexpected(std::move(leases.error()));
  if (!*leases)
    return fail(ErrorCode::not_found, fmt::format("there are no leases in '{}'", address.path()));
  return std::make_unique<FileLeases>(std::move(**leases), lasting);
}

}  // namespace kiln::remote
