#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "asked_once.h"
#include "broker.h"
#include "kiln/exchange.h"
#include "large_room.h"
#include "lately.h"
#include "remote/remote_protocol.h"

namespace kiln::remote {

/// An object, or none; where it is large, with the room that it takes.
struct GivenObject {
  std::optional<std::string> bytes;
  LargeRoom::Taken room = {};
};

/// What all who ask one server share. Safe to use from any thread.
struct Server {
  Broker& broker;
  Lately& lately;
  AskedOnce asked_once = {};
  LargeRoom large_room = {};
  std::atomic<std::uint64_t> asked{0};  ///< Requests.
  std::atomic<std::uint64_t> found{0};  ///< Objects.

  /// Hints and objects within a budget, or what was heard of them lately. Errors: as of Broker::ask().
  [[nodiscard]] Result<Heard> hints(const AskHints& call);
  [[nodiscard]] Result<GivenObject> object(const GetObject& call);

 private:
  [[nodiscard]] std::optional<Heard> heard_lately(const AskHints& call);
  [[nodiscard]] std::optional<std::string> object_lately(const std::string& name,
                                                         std::uint64_t most_bytes);
  [[nodiscard]] Result<Heard> ask_for_hints(const AskHints& call);
  [[nodiscard]] Result<std::optional<std::string>> ask_for_object(const GetObject& call,
                                                                  const LargeRoom::Taken& room);
  void keep(const Digest& request, const Heard& heard, std::size_t known);
  void keep(const std::string& name, const std::string& object);
};

/// The server as a store, for who has time. Serves one thread at a time.
class AskedStore final : public ObjectStore {
 public:
  /// Borrows the server.
  AskedStore(Server& server, TrustedKeys keys, std::chrono::milliseconds patience)
      : ObjectStore(std::move(keys)), server_(server), patience_(patience) {}

  Result<std::optional<std::string>> get(const std::string& name,
                                         std::uint64_t most_bytes) override;
  Result<bool> put(const std::string& name, std::string_view bytes) override;
  Result<std::vector<StoreHint>> hints(const Digest& request, std::size_t most) override;
  Outcome add_hint(const Digest& request, const std::string& name, std::string_view hint) override;
  Result<std::vector<Digest>> requests() override;
  Result<GcReport> collect(const GcOptions& options) override;

 private:
  [[nodiscard]] Broker::Budget patience() const noexcept { return {patience_, false}; }
  [[nodiscard]] Broker::Budget writing() const noexcept {
    return {.time = patience_, .counts = false, .writes = true};
  }

  Server& server_;
  const std::chrono::microseconds patience_;
};

}  // namespace kiln::remote
