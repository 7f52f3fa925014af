#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "broker.h"
#include "remote/remote_protocol.h"

namespace kiln::remote {

/// Who of this machine holds which lease. Prolongs them while their holders live and are not stopped, and gives them back for who
/// does not. Safe to use from any thread; never destroyed.
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

  [[nodiscard]] LeaseState take(const std::string& name, const Holder& holder);
  /// Of whoever holds it.
  void release(const std::string& name, bool failed);
  /// This helper holds it from now on.
  void keep(const std::string& name);
  /// The holder is gone: somebody else may go on.
  void release_all(const Holder& holder);

  [[nodiscard]] bool gives_any();
  [[nodiscard]] std::uint64_t waits();

 private:
  struct Held {
    std::string token;
    Holder holder;
  };
  void prolong();
  void give_back(const std::string& name, const std::string& token, bool failed);

  Broker& broker_;
  Broker& server_;
  std::mutex mutex_;
  std::map<std::string, Held> held_;
  std::map<std::string, bool> waited_for_;
  bool gives_any_ = false;
  std::uint64_t waits_ = 0;
};

}  // namespace kiln::remote
