// Writes header texts, headers of a toolkit, or a bundle, as C++ source: the build-time half of
// kiln_embed_headers() and kiln_embed_bundle().

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <zstd.h>

#include "kiln/cache.h"
#include "kiln/digest.h"
#include "toolkit.h"

namespace {

namespace fs = std::filesystem;

[[noreturn]] void give_up(const std::string& message) {
  std::fprintf(stderr, "kiln-embed: %s\n", message.c_str());
  std::exit(1);
}

std::string read_file(const fs::path& path) {
  if (fs::is_directory(path)) give_up(path.string() + " is a folder: name the files in it");
  std::ifstream file(path, std::ios::binary);
  if (!file) give_up("cannot read " + path.string());
  std::string text;
  for (std::array<char, 1 << 16> part; file;
       text.append(part.data(), static_cast<std::size_t>(file.gcount())))
    file.read(part.data(), part.size());
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
  if (!lines) give_up("cannot read " + listing.string());
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

std::string folder_of(std::string scope) {
  for (std::size_t at; (at = scope.find("::")) != std::string::npos;) {
    scope.erase(at, 1);
    scope[at] = '/';
  }
  return scope;
}

// The function that is written, and its two files.
struct Written {
  std::string scope;
  std::string function;
  fs::path output_dir;

  [[nodiscard]] std::string file() const { return folder_of(scope) + "/" + function; }
  [[nodiscard]] std::string stem() const { return (output_dir / file()).string(); }
};

std::string headers_header(const Written& written) {
  return "#pragma once\n\n#include \"kiln/headers.h\"\n\nnamespace " + written.scope +
         " {\n\n/// Embedded headers. Static lifetime.\n[[nodiscard]] const kiln::HeaderSet& " +
         written.function + "();\n\n}  // namespace " + written.scope + "\n";
}

// What the functions of headers end with, where the rows are in `table`.
constexpr const char* return_headers =
    "  // Never destroyed: other threads may read while the process exits.\n"
    "  static const auto& set = *new const "
    "kiln::HeaderSet(kiln::HeaderSet::from_static(table));\n"
    "  return set;\n";

std::string table_source(const Written& written, const std::map<std::string, fs::path>& headers) {
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
  return "#include \"" + written.file() + ".h\"\n\n" +
         "// Headers are longer than the standard asks compilers to take.\n"
         "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n\nnamespace {\n\n" +
         texts + "\nconstexpr kiln::EmbeddedHeader table[] = {\n" + rows +
         "};\n\n}  // namespace\n\n" + "const kiln::HeaderSet& " + written.scope +
         "::" + written.function + "() {\n" + return_headers + "}\n";
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

std::string bundle_header(const Written& written) {
  return "#pragma once\n\n#include <cstddef>\n#include <span>\n\nnamespace " + written.scope +
         " {\n\n/// The embedded bundle, for kiln::RuntimeOptions::embedded_bundles. Static "
         "lifetime.\n"
         "[[nodiscard]] std::span<const std::byte> " +
         written.function + "() noexcept;\n\n}  // namespace " + written.scope + "\n";
}

// The size is the assembler's word, so that it is that of the bytes it took in. '%' begins a section's
// type on every machine, where '@' begins a comment on some. Dots keep the symbols apart from whatever
// C++ can name. The digest makes the source another one when the bytes are, for compiler caches that do
// not look behind .incbin.
constexpr const char* bytes_template = R"source(#include "{include}"

#include <cstddef>
#include <cstdint>

__asm__(
    ".pushsection .rodata.kiln_embedded,\"a\",%progbits\n"
    ".globl {symbol}\n"
    ".hidden {symbol}\n"
    ".globl {symbol}.size\n"
    ".hidden {symbol}.size\n"
    ".balign 16\n"
    "{symbol}:\n"
    ".incbin " {file} "\n"
    ".L{symbol}.{digest}:\n"
    ".balign 8\n"
    "{symbol}.size:\n"
    ".quad .L{symbol}.{digest} - {symbol}\n"
    ".popsection\n");

{result} {scope}::{function}() {exceptions}{
  extern const std::byte bytes[] __asm__("{symbol}");
  extern const std::uint64_t size __asm__("{symbol}.size");
{body}}
)source";

// A function whose body has the bytes of a file, linked in, as `bytes` and `size`.
std::string bytes_source(const std::string& kind, const Written& written, const fs::path& file,
                         const std::string& result, const std::string& exceptions,
                         const std::string& body) {
  std::string symbol = "kiln." + kind + "." + written.scope + "." + written.function;
  replace_all(symbol, "::", ".");
  std::string source = bytes_template;
  replace_all(source, "{include}", written.file() + ".h");
  replace_all(source, "{digest}", kiln::digest_of(read_file(file)).hex());
  replace_all(source, "{symbol}", symbol);
  replace_all(source, "{result}", result);
  replace_all(source, "{scope}", written.scope);
  replace_all(source, "{function}", written.function);
  replace_all(source, "{exceptions}", exceptions);
  // Once for the assembler, once more for C++.
  replace_all(source, "{file}", literal(literal(file.string())));
  replace_all(source, "{body}", body);
  return source;
}

std::string bundle_source(const Written& written, const fs::path& file) {
  return bytes_source("bundle", written, file, "std::span<const std::byte>", "noexcept ",
                      "  return {bytes, size};\n");
}

// What is no bundle shall be found while building, not when the program first looks for a kernel.
void check_bundle(const fs::path& file) {
  const auto bundle = kiln::Cache::open_bundle(file, {.trust = {.others = true}});
  if (!bundle) give_up(bundle.error().message);
}

void embed_headers(char** words) {
  const Written written{words[0], words[1], words[5]};
  const auto headers = read_listing(words[4], words[2], words[3]);
  write_file(written.stem() + ".h", headers_header(written));
  write_file(written.stem() + ".cpp", table_source(written, headers));
}

void embed_bundle(char** words) {
  const Written written{words[0], words[1], words[3]};
  const fs::path file = words[2];
  check_bundle(file);
  write_file(written.stem() + ".h", bundle_header(written));
  write_file(written.stem() + ".cpp", bundle_source(written, file));
}

// The texts of a toolkit's headers one after the other, and the rows that say where each is.
struct PackedTable {
  std::string texts;
  std::string rows;
};

PackedTable pack(const kiln::ToolkitHeaders& headers) {
  PackedTable table;
  for (const auto& [name, file] : headers) {
    const std::string text = read_file(file);
    table.rows += "      {" + literal(name) + ", packed, " + std::to_string(table.texts.size()) +
                  ", " + std::to_string(text.size()) + ", " + initializer(kiln::digest_of(text)) +
                  "},\n";
    table.texts += text;
  }
  return table;
}

std::string compress(const std::string& text) {
  constexpr int level = 19;  // The smallest without more memory to decompress: it is done once.
  std::string frame(ZSTD_compressBound(text.size()), '\0');
  const auto size = ZSTD_compress(frame.data(), frame.size(), text.data(), text.size(), level);
  if (ZSTD_isError(size) != 0) give_up(ZSTD_getErrorName(size));
  frame.resize(size);
  return frame;
}

std::string packed_source(const Written& written, const fs::path& frame, const PackedTable& table) {
  const std::string body = "  static const kiln::PackedTexts packed(bytes, size, " +
                           std::to_string(table.texts.size()) +
                           ");\n  static constexpr kiln::EmbeddedHeader table[] = {\n" +
                           table.rows + "  };\n" + return_headers;
  return bytes_source("headers", written, frame, "const kiln::HeaderSet&", "", body);
}

// For the build tool, so that it embeds again what has changed.
std::string make_rule(const fs::path& target, const kiln::ToolkitHeaders& headers) {
  const auto escaped = [](std::string path) {
    replace_all(path, " ", "\\ ");
    return path;
  };
  std::string rule = escaped(target.string()) + ":";
  for (const auto& [name, file] : headers) rule += " \\\n  " + escaped(file.string());
  return rule + "\n";
}

[[noreturn]] void refuse_usage() {
  give_up(
      "usage: kiln-embed NAMESPACE FUNCTION BASE PREFIX LISTING OUTPUT_DIR\n"
      "       kiln-embed --bundle NAMESPACE FUNCTION BUNDLE OUTPUT_DIR\n"
      "       kiln-embed --toolkit NAMESPACE FUNCTION OUTPUT_DIR DIR... -- HEADER...");
}

void embed_toolkit(const std::vector<std::string>& words) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes - words.begin() < 4 || words.end() - dashes < 2) refuse_usage();
  const Written written{words[0], words[1], words[2]};
  const auto headers =
      kiln::toolkit_headers({words.begin() + 3, dashes}, {std::next(dashes), words.end()});
  if (!headers) give_up(headers.error().message);
  const auto table = pack(*headers);
  const std::string stem = written.stem();
  write_file(stem + ".zst", compress(table.texts));
  write_file(stem + ".h", headers_header(written));
  write_file(stem + ".cpp", packed_source(written, stem + ".zst", table));
  write_file(stem + ".d", make_rule(stem + ".cpp", *headers));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--toolkit") {
    embed_toolkit({argv + 2, argv + argc});
  } else if (first == "--bundle" && argc == 6) {
    embed_bundle(argv + 2);
  } else if (argc == 7) {
    embed_headers(argv + 1);
  } else {
    refuse_usage();
  }
}
