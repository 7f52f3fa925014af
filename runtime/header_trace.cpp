#include "header_trace.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "standard_streams.h"

namespace kiln {

namespace {

using Json = nlohmann::json;

// Takes the headers' names out of the events as they go by, and keeps nothing else.
class HeaderEvents : public nlohmann::json_sax<Json> {
 public:
  bool key(string_t& name) override {
    key_ = name;
    return true;
  }
  bool string(string_t& text) override {
    if (key_ == "detail") detail_ = text;
    if (key_ == "name" && depth_ == event_depth) is_header_ = text == "Processing Header File";
    return true;
  }
  bool start_object(std::size_t) override {
    ++depth_;
    if (depth_ == event_depth) {
      detail_.clear();
      is_header_ = false;
    }
    return true;
  }
  bool end_object() override {
    if (depth_ == event_depth && is_header_ && !detail_.empty()) headers_.push_back(detail_);
    --depth_;
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

  [[nodiscard]] std::vector<std::string> take() {
    std::sort(headers_.begin(), headers_.end());
    headers_.erase(std::unique(headers_.begin(), headers_.end()), headers_.end());
    return std::move(headers_);
  }

 private:
  static constexpr int event_depth = 2;  // {"traceEvents": [{…}]}

  int depth_ = 0;
  std::string key_;
  std::string detail_;
  bool is_header_ = false;
  std::vector<std::string> headers_;
};

std::optional<std::string> read_whole(int file) {
  struct stat status;
  if (::fstat(file, &status) != 0) return std::nullopt;
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  if (::pread(file, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return std::nullopt;
  }
  return text;
}

}  // namespace

std::optional<std::vector<std::string>> headers_in_trace(std::string_view trace) {
  // What NVRTC writes for bytes that are no UTF-8: which file it was cannot be told.
  constexpr std::string_view replacement = "\xEF\xBF\xBD";
  HeaderEvents events;
  if (!Json::sax_parse(trace, &events) || trace.find(replacement) != trace.npos)
    return std::nullopt;
  return events.take();
}

HeaderTrace::HeaderTrace(const std::filesystem::path& folder, const std::string& name)
    : stem_(folder / name), link_(stem_.string() + ".json") {
  file_ = system::above_standard_streams(::memfd_create("kiln-trace", MFD_CLOEXEC));
  if (file_ < 0) return;
  const auto target = "/proc/self/fd/" + std::to_string(file_);
  struct stat through_link;
  // Looked at through the link, since there may be no /proc.
  if (::symlink(target.c_str(), link_.c_str()) == 0 && ::stat(link_.c_str(), &through_link) == 0) {
    return;
  }
  ::close(file_);
  file_ = -1;
}

HeaderTrace::~HeaderTrace() {
  ::unlink(link_.c_str());
  if (file_ >= 0) ::close(file_);
}

std::string HeaderTrace::option() const {
  return file_ < 0 ? "" : "-fdevice-time-trace=" + stem_.string();
}

std::optional<std::vector<std::string>> HeaderTrace::headers() const {
  const auto text = file_ < 0 ? std::nullopt : read_whole(file_);
  return text ? headers_in_trace(*text) : std::nullopt;
}

}  // namespace kiln
