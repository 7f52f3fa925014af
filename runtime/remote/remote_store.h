#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/exchange.h"
#include "remote/helper_connections.h"
#include "remote/remote_protocol.h"

namespace kiln::remote {

/// A store on a server, by its helper. Errors: io_failed, timed_out, cache_unusable where the server is left alone for a while, beside
/// those of ObjectStore.
class RemoteStore final : public ObjectStore {
 public:
  /// How long calls may take in all that are only worth something if they are quick, and whether what the helper has heard a
  /// moment ago will do.
  struct Haste {
    std::chrono::microseconds budget;
    bool fresh = false;
  };

  /// `patience` is for each call of who is in no haste.
  RemoteStore(std::shared_ptr<HelperConnections> helper, TrustedKeys keys,
              std::chrono::milliseconds patience)
      : ObjectStore(std::move(keys)), helper_(std::move(helper)), patience_(patience) {}
  RemoteStore(std::shared_ptr<HelperConnections> helper, TrustedKeys keys, Haste haste);

  /// No more time than this is spent from now on, if less was left.
  void hurry(std::chrono::microseconds most);
  /// Whether all of it is spent.
  [[nodiscard]] bool is_late() const { return end_ && Clock::now() >= *end_; }

  Result<std::optional<std::string>> get(const std::string& name,
                                         std::uint64_t most_bytes) override;
  Result<bool> put(const std::string& name, std::string_view bytes) override;
  Result<std::vector<StoreHint>> hints(const Digest& request, std::size_t most) override;
  Outcome add_hint(const Digest& request, const std::string& name, std::string_view hint) override;
  Result<std::vector<Digest>> requests() override;
  Result<GcReport> collect(const GcOptions& options) override;

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] std::chrono::microseconds left() const;
  template <class Question>
  [[nodiscard]] Result<typename Question::Reply> ask(Question question);

  const std::shared_ptr<HelperConnections> helper_;
  std::chrono::microseconds patience_;
  std::optional<Clock::time_point> end_;
  bool fresh_ = false;
  /// What came along with the last hints, and its name.
  std::string near_name_;
  std::optional<std::string> near_;
};

}  // namespace kiln::remote
