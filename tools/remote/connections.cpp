#include "connections.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "asked_store.h"
#include "backend.h"
#include "base/build_identity.h"
#include "broker.h"
#include "deliveries.h"
#include "lately.h"
#include "lease_book.h"
#include "remote/helper_connections.h"
#include "remote/helper_environment.h"
#include "remote/message_socket.h"
#include "remote/remote_protocol.h"
#include "signing/signature.h"
#include "start_thread.h"
#include "system/descriptor.h"

namespace kiln::remote {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using State = MessageSocket::State;

constexpr std::size_t most_connections_to_server = 16;
constexpr int most_connections = 1024;
/// Whoever asked and does not take the answer is gone.
constexpr auto patience_with_a_caller = 5s;
/// What the server does not take is not waited for longer than this, once nobody is connected.
constexpr auto longest_delivery = 5min;

/// All that serves one store. It is made once and never destroyed: a thread of it may wait for ever.
class Service {
 public:
  static Result<Service*> make(const Introduction& introduction) {
    if (auto hashing = storage::prepare_to_hash(); !hashing)
      return tl::unexpected(std::move(hashing.error()));
    TrustedKeys keys;
    if (!introduction.trusted_keys.empty()) {
      auto read = TrustedKeys::read(introduction.trusted_keys);
      if (!read) return tl::unexpected(std::move(read.error()));
      keys = std::move(*read);
    }
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): as said above.
    return new Service(introduction, std::move(keys));
  }

  using Holder = LeaseBook::Holder;

  Result<Heard> answer(const AskHints& call, const Holder&) { return server_.hints(call); }
  Result<GivenObject> answer(const GetObject& call, const Holder&) { return server_.object(call); }
  Result<bool> answer(const PutObject& call, const Holder&) {
    if (address_.read_only) return refusal();
    return store().put(call.name, call.bytes);
  }
  Result<bool> answer(const AddHint& call, const Holder&) {
    if (address_.read_only) return refusal();
    auto added = store().add_hint(call.request, call.name, call.record);
    if (!added) return tl::unexpected(std::move(added.error()));
    return true;
  }
  Result<std::vector<Digest>> answer(const ListRequests&, const Holder&) {
    return store().requests();
  }
  Result<bool> answer(const PushEntry& call, const Holder& holder) {
    return deliveries_.add(call, holder);
  }
  Result<bool> answer(const AdmitEntries& call, const Holder&) { return deliveries_.add(call); }
  Result<LeaseState> answer(const TakeLease& call, const Holder& holder) {
    if (address_.read_only) return LeaseState::unavailable;
    return leases_.take(call.name, holder, std::chrono::microseconds(call.budget_us));
  }
  Result<bool> answer(const ReleaseLease& call, const Holder& holder) {
    leases_.release(call.name, holder, call.failed);
    return true;
  }
  Result<bool> answer(const TellVainWait& call, const Holder&) {
    leases_.waited_in_vain(std::chrono::microseconds(call.waited_us));
    return true;
  }
  Result<RemoteStatus> answer(const AskStatus& call, const Holder&) {
    if (call.reach) {
      if (auto reached = broker_.reach(address_.timeout); !reached)
        return tl::unexpected(std::move(reached.error()));
    }
    auto status = broker_.status();
    // A lease is asked for on a connection of its own, of the same server.
    const auto of_leases = lease_broker_.status();
    status.failures += of_leases.failures;
    status.slow += of_leases.slow;
    if (status.last_failure.empty()) status.last_failure = of_leases.last_failure;
    status.asked = server_.asked;
    status.found = server_.found;
    status.lease_waits = leases_.waits();
    // A folder gives them to who is about to write.
    status.gives_leases |= address_.kind == RemoteAddress::Kind::file;
    status.gives_leases &= !address_.read_only && !leases_.gives_none();
    deliveries_.tell(status);
    return status;
  }

  void gone(const Holder& holder) { leases_.release_all(holder); }

  /// Whether everything is carried.
  [[nodiscard]] bool idle() { return deliveries_.idle(); }

 private:
  Service(const Introduction& introduction, TrustedKeys keys)
      : address_(introduction.address),
        trust_(introduction.trust),
        keys_(std::move(keys)),
        broker_([this](bool writes) { return open(writes); }, most_connections_to_server),
        lease_broker_([this](bool writes) { return open(writes); }, 1),
        server_{broker_, lately_},
        leases_(lease_broker_, broker_),
        deliveries_(server_, leases_,
                    {introduction.trust, keys_, !address_.read_only, 2 * address_.timeout}) {}

  [[nodiscard]] Result<Backend> open(bool writes) const {
    return open_backend(address_, {.create = writes && !address_.read_only,
                                   .parents = address_.parents,
                                   .read_only = address_.read_only,
                                   .trust = trust_,
                                   .trusted_keys = keys_});
  }

  [[nodiscard]] tl::unexpected<Error> refusal() const {
    return fail(ErrorCode::invalid_argument,
                address_.shown() + " is named read-only: leave that out to put something there");
  }

  [[nodiscard]] AskedStore store() { return {server_, keys_, 2 * address_.timeout}; }

  const RemoteAddress address_;
  const CacheTrust trust_;
  const TrustedKeys keys_;
  Broker broker_;
  Broker lease_broker_;
  Lately lately_;
  Server server_;
  LeaseBook leases_;
  Deliveries deliveries_;
};

/// Who is at the other end; the process 0 where it is of another namespace.
ucred peer_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) peer.uid = ~uid_t{0};
  return peer;
}

}  // namespace

class Connections::Impl {
 public:
  explicit Impl(int listening) : listening_(listening) {}

  void serve() {
    auto busy_at = Clock::now();
    for (;;) {
      pollfd event{listening_.get(), POLLIN, 0};
      const int ready = ::poll(&event, 1, 1000);
      if (ready > 0) accept();
      const auto now = Clock::now();
      if (welcome_ > 0) busy_at = now;
      const auto quiet = now - busy_at;
      if (quiet > std::chrono::seconds(idle_seconds) && (is_idle() || quiet > longest_delivery))
        return;
    }
  }

 private:
  void accept() {
    system::Descriptor socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    // It still waits, for a descriptor.
    if (!socket) ::poll(nullptr, 0, 10);
    if (!socket || open_ >= most_connections) return;
    const auto peer = peer_of(socket.get());
    if (peer.uid != ::geteuid()) return;
    ++open_;
    const LeaseBook::Holder holder{++last_number_, peer.pid};
    const bool started = start_thread([this, holder, socket = std::move(socket)]() mutable {
      if (talk(MessageSocket(std::move(socket), most_message_bytes), holder)) --welcome_;
      if (service_ != nullptr) service_.load()->gone(holder);
      --open_;
    });
    if (!started) --open_;
  }

  /// Whether he was welcome.
  bool talk(MessageSocket socket, const LeaseBook::Holder& holder) {
    bool introduced = false;
    std::string message;
    while (socket.receive(message, std::nullopt) == State::ok) {
      const auto call = wire::decode<Call>(message);
      if (!call) return introduced;
      const auto answer =
          std::visit([&](const auto& one) { return this->answer(one, holder, introduced); }, *call);
      const auto deadline = Clock::now() + patience_with_a_caller;
      if (answer.record.empty() || socket.send(answer.record, deadline) != State::ok)
        return introduced;
      if (message.capacity() > LargeRoom::most_without) message = {};
    }
    return introduced;
  }

  /// A record, which is empty to whoever did not say for which store he comes; where it is large, with its room.
  struct Answer {
    std::string record = {};
    LargeRoom::Taken room = {};
  };

  template <class Question>
  Answer answer(const Question& call, const LeaseBook::Holder& holder, bool& introduced) {
    if constexpr (std::is_same_v<Question, Introduction>) {
      auto welcome = welcome_to(call);
      if (welcome.value_or(false) && !std::exchange(introduced, true)) ++welcome_;
      return {wire::encode(welcome)};
    } else {
      return introduced ? answer_of(service_.load()->answer(call, holder)) : Answer();
    }
  }

  template <class Reply>
  static Answer answer_of(const tl::expected<Reply, Error>& reply) {
    return {wire::encode(reply)};
  }
  static Answer answer_of(Result<GivenObject> given) {
    auto room = given ? std::move(given->room) : LargeRoom::Taken();
    return {
        wire::encode(std::move(given).map([](GivenObject all) { return std::move(all.bytes); })),
        std::move(room)};
  }

  /// False to who comes with another introduction than the first, or would be served with keys of somebody else's environment.
  Result<bool> welcome_to(const Introduction& introduction) {
    if (introduction.build != build_identity()) {
      return fail(
          ErrorCode::io_failed,
          fmt::format("kiln-remote: it belongs to '{}', and the library is '{}': install both "
                      "from one build, or name the right one with KILN_REMOTE_HELPER",
                      build_identity(), introduction.build));
    }
    if (introduction.environment != environment_for(introduction.address)) return false;
    const std::lock_guard lock(mutex_);
    auto record = wire::encode(introduction);
    if (service_ != nullptr) return record == store_;
    auto made = Service::make(introduction);
    if (!made) return tl::unexpected(std::move(made.error()));
    store_ = std::move(record);
    service_ = *made;
    // Whoever connects from now on is told this process's number, and needs no more patience than with one that runs.
    ::listen(listening_.get(), most_waiting);
    return true;
  }

  [[nodiscard]] bool is_idle() const { return service_ == nullptr || service_.load()->idle(); }

  const system::Descriptor listening_;
  std::mutex mutex_;
  std::string store_;  ///< The record of who introduced himself first.
  std::atomic<Service*> service_{nullptr};
  std::atomic<int> open_{0};
  /// Of these. Others ask here on their way to the next helper, and are to keep none up.
  std::atomic<int> welcome_{0};
  std::uint64_t last_number_ = 0;
};

Connections::Connections(int listening) : impl_(std::make_shared<Impl>(listening)) {}
Connections::~Connections() = default;

void Connections::serve() { impl_->serve(); }

}  // namespace kiln::remote
