// Writes a table of header texts as C++ source: the build-time half of kiln_embed_headers().

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "kiln/digest.h"

namespace {

namespace fs = std::filesystem;

[[noreturn]] void give_up(const std::string& message) {
  std::fprintf(stderr, "kiln-embed: %s\n", message.c_str());
  std::exit(1);
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) give_up("cannot read " + path.string());
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) give_up("cannot read all of " + path.string());
  return text;
}

void write_file(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) give_up("cannot write " + path.string());
}

// A literal of any bytes. Octal, since a hexadecimal escape would swallow the digits that follow it;
// '?' too, since two of them begin a trigraph.
std::string literal(std::string_view bytes) {
  std::string out = "\"";
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const auto byte = static_cast<unsigned char>(bytes[at]);
    if (byte == '\n') {
      out += at + 1 < bytes.size() ? "\\n\"\n\"" : "\\n";
    } else if (byte < 0x20 || byte >= 0x7f || byte == '"' || byte == '\\' || byte == '?') {
      char escape[5];
      std::snprintf(escape, sizeof escape, "\\%03o", byte);
      out += escape;
    } else {
      out += static_cast<char>(byte);
    }
  }
  return out + "\"";
}

std::string initializer(const kiln::Digest& digest) {
  std::string out = "{{";
  for (const auto byte : digest.bytes) out += std::to_string(byte) + ",";
  out.back() = '}';
  return out + "}";
}

// Spelling to file, in the spelling's order, so that the output does not depend on how files are listed.
std::map<std::string, fs::path> read_listing(const fs::path& listing, const fs::path& base,
                                             const std::string& prefix) {
  std::map<std::string, fs::path> headers;
  std::ifstream lines(listing);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    const fs::path file(line);
    const std::string relative = file.lexically_relative(base).generic_string();
    if (relative.empty() || relative.starts_with("..")) {
      give_up(line + " is not below BASE " + base.string());
    }
    if (!headers.emplace(prefix + relative, file).second) give_up(line + " is listed twice");
  }
  return headers;
}

std::string header_source(const std::string& scope, const std::string& function) {
  return "#pragma once\n\n#include \"kiln/headers.h\"\n\nnamespace " + scope +
         " {\n\n/// Embedded headers. Static lifetime.\n[[nodiscard]] const kiln::HeaderSet& " +
         function + "();\n\n}  // namespace " + scope + "\n";
}

std::string table_source(const std::string& scope, const std::string& function,
                         const std::string& include,
                         const std::map<std::string, fs::path>& headers) {
  std::string texts;
  std::string rows;
  for (const auto& [name, file] : headers) {
    const std::string text = read_file(file);
    const std::string variable =
        "text_" + std::to_string(std::distance(headers.begin(), headers.find(name)));
    texts += "constexpr char " + variable + "[] =\n" + literal(text) + ";\n";
    rows += "    {" + literal(name) + ", {" + variable + ", " + std::to_string(text.size()) +
            "}, " + initializer(kiln::digest_of(text)) + "},\n";
  }
  return "#include \"" + include + "\"\n\n" +
         "// Headers are longer than the standard asks compilers to take.\n"
         "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n\nnamespace {\n\n" +
         texts + "\nconstexpr kiln::EmbeddedHeader table[] = {\n" + rows +
         "};\n\n}  // namespace\n\n" + "const kiln::HeaderSet& " + scope + "::" + function +
         "() {\n  static const kiln::HeaderSet set = kiln::HeaderSet::from_static(table);\n"
         "  return set;\n}\n";
}

std::string folder_of(std::string scope) {
  for (std::size_t at; (at = scope.find("::")) != std::string::npos;) scope.replace(at, 2, "/");
  return scope;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) give_up("usage: kiln-embed NAMESPACE FUNCTION BASE PREFIX LISTING OUTPUT_DIR");
  const std::string scope = argv[1];
  const std::string function = argv[2];
  const auto headers = read_listing(argv[5], argv[3], argv[4]);
  const std::string include = folder_of(scope) + "/" + function + ".h";
  const fs::path stem = fs::path(argv[6]) / folder_of(scope) / function;
  write_file(stem.string() + ".h", header_source(scope, function));
  write_file(stem.string() + ".cpp", table_source(scope, function, include, headers));
}
