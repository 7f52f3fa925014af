#include "manifest/manifest_json.h"

#include <charconv>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace kiln {

namespace {

// The parser keeps the last of two members of one name and says nothing.
class MemberNames {
 public:
  bool operator()(int /*depth*/, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open_.emplace_back();
    if (event == Json::parse_event_t::object_end) open_.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& name = parsed.get_ref<const std::string&>();
      if (!open_.back().insert(name).second && twice_.empty()) twice_ = name;
    }
    return true;
  }

  [[nodiscard]] const std::string& twice() const { return twice_; }

 private:
  std::vector<std::set<std::string>> open_;
  std::string twice_;
};

constexpr std::size_t deepest = 64;

// Without "[json.exception.parse_error.101] ", which names it to programmers alone.
std::string_view message_of(const Json::exception& error) {
  const std::string_view message = error.what();
  const auto name_end = message.find("] ");
  return message.starts_with('[') && name_end != message.npos ? message.substr(name_end + 2)
                                                              : message;
}

Result<Json> parse(std::string_view text) {
  if (nests_too_deep(text)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("no manifest: its values nest deeper than {}", deepest));
  }
  MemberNames names;
  try {
    auto document = Json::parse(text, std::ref(names));
    if (names.twice().empty()) return document;
  } catch (const Json::exception& error) {
    return fail(ErrorCode::invalid_argument, fmt::format("no JSON: {}", message_of(error)));
  }
  return fail(ErrorCode::invalid_argument,
              fmt::format("the member '{}' stands twice in one object", names.twice()));
}

bool is_blank_line(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

Result<std::vector<Json>> read_lines(std::string_view text) {
  std::vector<Json> documents;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const bool torn = end == std::string_view::npos;
    const auto line = text.substr(0, end);
    text = torn ? std::string_view{} : text.substr(end + 1);
    if (is_blank_line(line)) continue;
    auto document = parse(line);
    if (document) {
      documents.push_back(std::move(*document));
    } else if (!torn) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("line {}: {}", number, document.error().message));
    }
  }
  return documents;
}

bool is_utf8(const std::string& text) {
  try {
    (void)Json(text).dump();
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

std::string hex_of(std::string_view bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) fmt::format_to(std::back_inserter(text), "{:02x}", byte);
  return text;
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += 2) {
    unsigned char byte = 0;
    const char* end = text.data() + at + 2;
    const auto [rest, error] = std::from_chars(text.data() + at, end, byte, 16);
    if (error != std::errc() || rest != end) return std::nullopt;
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

Json header_json(const RecordedHeader& header) {
  if (!header.text) return nullptr;
  const auto digest = digest_of(*header.text).hex();
  if (header.path.empty() && !header.directory) return digest;
  Json json{{"text", digest}};
  if (!header.path.empty()) json["path"] = header.path;
  if (header.directory) json["directory"] = *header.directory;
  return json;
}

}  // namespace

bool nests_too_deep(std::string_view json) noexcept {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < json.size(); ++at) {
    const char character = json[at];
    if (in_string && character == '\\') ++at;
    if (character == '"') in_string = !in_string;
    if (in_string) continue;
    if ((character == '[' || character == '{') && ++depth > deepest) return true;
    if ((character == ']' || character == '}') && depth > 0) --depth;
  }
  return false;
}

Result<std::vector<Json>> read_documents(std::string_view text) {
  auto whole = parse(text);
  if (whole) return std::vector<Json>{std::move(*whole)};
  // Only a record has its first document on its first line.
  const auto end = text.find('\n');
  if (end == std::string_view::npos || !parse(text.substr(0, end)))
    return tl::unexpected(std::move(whole.error()));
  return read_lines(text);
}

Json text_json(const std::string& text) {
  return is_utf8(text) ? Json(text) : Json{{"hex", hex_of(text)}};
}

std::optional<std::string> text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object() || value.size() != 1 || !value.contains("hex")) return std::nullopt;
  const auto& hex = value["hex"];
  return hex.is_string() ? from_hex(hex.get_ref<const std::string&>()) : std::nullopt;
}

RecordLine record_line(const ListedProgram& listed) {
  const auto source = std::make_shared<const std::string>(listed.spec.source);
  RecordLine line;
  line.texts.emplace_back(digest_of(*source), source);
  auto headers = Json::object();
  for (const auto& header : listed.recorded) {
    headers[header.name] = header_json(header);
    if (header.text) line.texts.emplace_back(digest_of(*header.text), header.text);
  }
  line.program = {{"name", listed.spec.name},
                  {"source_text", digest_of(*source).hex()},
                  {"kernels", listed.spec.kernels},
                  {"options", listed.spec.options},
                  {"recorded_headers", std::move(headers)},
                  {"targets", {listed.targets.front().arch()}},
                  {"image", to_string(listed.targets.front().kind())}};
  // A recorded program lists no other embedded headers: they are among those that were found.
  if (!listed.spec.headers.empty()) line.program["standard_headers"] = true;
  if (!listed.spec.engine.empty()) line.program["engine"] = listed.spec.engine;
  if (!listed.spec.source_word.empty()) line.program["source_word"] = listed.spec.source_word;
  if (!listed.working_directory.empty())
    line.program["working_directory"] = listed.working_directory;
  if (listed.embedded_names) {
    const auto names = digest_of(*listed.embedded_names);
    line.program["embedded_names"] = names.hex();
    line.texts.emplace_back(names, listed.embedded_names);
  }
  line.digest = digest_of(line.program.dump(-1, ' ', false, Json::error_handler_t::replace));
  return line;
}

Result<std::string> line_text(const Json& program, Json texts) {
  Json document{{"kiln_manifest", manifest_version}, {"programs", Json::array({program})}};
  if (!texts.empty()) document["texts"] = std::move(texts);
  try {
    return document.dump() + '\n';
  } catch (const Json::exception& error) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("JSON cannot hold it: {}", message_of(error)));
  }
}

}  // namespace kiln
