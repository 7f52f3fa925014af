#pragma once

#include <memory>

namespace kiln::remote {

/// Serves whoever connects to a listening socket, each on a thread of its own: this user's processes, who all ask for the store that
/// the first of them names. Ends when nobody has been connected for a minute and nothing is left to be carried.
class Connections {
 public:
  explicit Connections(int listening);
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;
  ~Connections();

  void serve();

 private:
  class Impl;
  /// Shared with the threads.
  std::shared_ptr<Impl> impl_;
};

}  // namespace kiln::remote
