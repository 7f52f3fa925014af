#include "program/made_source.h"

#include <exception>
#include <utility>

#include <fmt/format.h>

namespace kiln {

MadeSource::MadeSource(std::string program, std::function<std::string()> make)
    : program_(std::move(program)), make_(std::move(make)) {}

const std::string& MadeSource::text() {
  std::call_once(once_, [this] { make(); });
  return text_;
}

const Outcome& MadeSource::outcome() {
  static_cast<void>(text());
  return outcome_;
}

void MadeSource::make() {
  const auto wrong = [this](const std::string& what) {
    outcome_ = fail(ErrorCode::invalid_argument,
                    fmt::format("program '{}': making its source {}", program_, what));
  };
  try {
    text_ = make_();
    if (text_.find('\0') != std::string::npos) wrong("gave a NUL byte");
  } catch (const std::exception& error) {
    wrong(fmt::format("threw: {}", error.what()));
  } catch (...) {
    wrong("threw what is no std::exception");
  }
  if (!outcome_) text_.clear();
  make_ = nullptr;
  is_made_ = true;
}

}  // namespace kiln
