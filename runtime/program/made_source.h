#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>

#include "kiln/error.h"

namespace kiln {

/// A source that is made when somebody first needs it, once. Safe to use from any thread.
class MadeSource {
 public:
  /// `program` is its name, for messages.
  MadeSource(std::string program, std::function<std::string()> make);

  /// The text; empty where outcome() is an error. Calls the function of the constructor where nobody did. Valid as long as
  /// this object.
  [[nodiscard]] const std::string& text();

  /// Whether there is a text. Calls the function like text(). Errors: invalid_argument, where that threw or gave what is no
  /// source.
  [[nodiscard]] const Outcome& outcome();

  /// Whether text() only has to give it.
  [[nodiscard]] bool is_made() const noexcept { return is_made_; }

 private:
  void make();

  const std::string program_;
  std::function<std::string()> make_;  ///< Empty once it was called.
  std::once_flag once_;
  std::atomic<bool> is_made_ = false;
  std::string text_;
  Outcome outcome_;
};

}  // namespace kiln
