#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "broker.h"
#include "remote/remote_protocol.h"

namespace kiln::remote {

/// Who of this machine holds which lease. Prolongs them while their holders live, and gives them back for who ends or is stopped. Safe to use from any thread; never destroyed.
class LeaseBook {
 public:
  /// Somebody who holds leases: a connection, or with number 0 this helper itself.
  struct Holder {
    std::uint64_t number = 0;
    pid_t process = 0;  ///< 0 where it is not known.
  };

  /// Borrows both. `broker` asks on one connection: leases of folders are told apart by what one has seen. `server` knows whether the
  /// server is left alone.
  LeaseBook(Broker& broker, Broker& server);

  /// Late where the server takes longer than `most_wait`: a lease that comes then is given back.
  [[nodiscard]] LeaseState take(const std::string& name, const Holder& holder,
                                std::chrono::microseconds most_wait);
  /// Where it is still this holder's. Waits for no server.
  void release(const std::string& name, const Holder& holder, bool failed);
  /// This helper holds it from now on. False where it is no longer this holder's.
  [[nodiscard]] bool keep(const std::string& name, const Holder& holder);
  /// The holder is gone: somebody else may go on.
  void release_all(const Holder& holder);

  /// Somebody waited so long for another machine that made nothing for him. Once that has cost too much, no lease is asked for.
  void waited_in_vain(std::chrono::microseconds time);

  /// Whether the server has said that it gives none.
  [[nodiscard]] bool gives_none();
  [[nodiscard]] std::uint64_t waits();

 private:
  struct Held {
    std::string token;
    Holder holder;
  };
  /// A lease that nobody holds any more, and that the server is to be told of.
  struct Returned {
    std::string name;
    std::string token;
    bool failed;
  };
  void work();
  void prolong();
  void give_back_soon(Returned lease);
  void give_back(const Returned& lease);
  void drop(std::map<std::string, Held>::iterator at, bool failed);

  Broker& broker_;
  Broker& server_;
  std::mutex mutex_;
  std::condition_variable to_return_;
  std::map<std::string, Held> held_;
  std::vector<Returned> returned_;
  std::map<std::string, bool> waited_for_;
  bool gives_none_ = false;
  std::uint64_t waits_ = 0;
  Broker::Clock::duration vain_{};  ///< What was waited in vain lately.
  Broker::Clock::time_point last_in_vain_{};
  Broker::Clock::time_point left_alone_until_{};
};

}  // namespace kiln::remote
