#pragma once

#include <string>

namespace demo {

/// Whether escapes may go to this descriptor: a terminal that is not dumb.
[[nodiscard]] bool moves(int descriptor);

/// What a program is at, on standard error: one line that is written over on a terminal. Elsewhere only the first
/// text is shown, as a plain line.
class MovingLine {
 public:
  MovingLine();
  MovingLine(const MovingLine&) = delete;
  MovingLine& operator=(const MovingLine&) = delete;
  /// Wipes the line.
  ~MovingLine();

  void show(const std::string& text);

 private:
  const bool moves_;
  bool shown_ = false;
};

}  // namespace demo
