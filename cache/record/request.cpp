#include "kiln/request.h"

#include <utility>

#include "record/fields.h"

namespace kiln {
namespace {

using storage::FieldReader;
using storage::FieldWriter;
using storage::Tag;

constexpr std::uint64_t request_version = 2;
constexpr std::uint64_t dependencies_version = 2;
constexpr std::uint64_t key_version = 1;

bool read_flag(FieldReader& in, Tag tag) {
  const auto number = in.number(tag);
  if (number > 1) in.reject();
  return number == 1;
}

// A 1 that mostly is not there.
bool read_mark(FieldReader& in, Tag tag) {
  if (!in.at(tag)) return false;
  if (in.number(tag) != 1) in.reject();
  return true;
}

// A number that mostly is not there: then it is `none`, which is never written.
std::uint32_t read_optional(FieldReader& in, Tag tag, std::uint32_t none) {
  if (!in.at(tag)) return none;
  const auto number = in.number32(tag);
  if (number == none) in.reject();
  return number;
}

Dependency::Reach read_reach(FieldReader& in) {
  using Reach = Dependency::Reach;
  if (!in.at(Tag::reach)) return Reach::file;
  const auto number = in.number(Tag::reach);
  if (number == 0 || number > static_cast<std::uint64_t>(Reach::presence)) in.reject();
  return static_cast<Reach>(number);
}

void write(FieldWriter& out, const Dependency& lookup) {
  out.bytes(Tag::spelling, lookup.spelling);
  if (lookup.parent != Dependency::no_parent) out.number(Tag::parent, lookup.parent);
  if (lookup.beside) out.number(Tag::beside, 1);
  if (lookup.tested) out.number(Tag::tested, 1);
  if (lookup.reach != Dependency::Reach::file)
    out.number(Tag::reach, static_cast<std::uint64_t>(lookup.reach));
  out.digest(Tag::content, lookup.content);
  out.bytes(Tag::path, lookup.path);
  if (lookup.same_path != Dependency::no_other) out.number(Tag::same_path, lookup.same_path);
  if (lookup.same_file != Dependency::no_other) out.number(Tag::same_file, lookup.same_file);
  if (lookup.modified_ns != 0)
    out.number(Tag::modified_ns, static_cast<std::uint64_t>(lookup.modified_ns));
}

// `position`: of this look-up, since it refers only to earlier ones.
Dependency read_lookup(FieldReader& in, std::size_t position) {
  Dependency lookup;
  lookup.spelling = in.text(Tag::spelling);
  lookup.parent = read_optional(in, Tag::parent, Dependency::no_parent);
  lookup.beside = read_mark(in, Tag::beside);
  lookup.tested = read_mark(in, Tag::tested);
  lookup.reach = read_reach(in);
  lookup.content = in.digest(Tag::content);
  lookup.path = in.text(Tag::path);
  lookup.same_path = read_optional(in, Tag::same_path, Dependency::no_other);
  lookup.same_file = read_optional(in, Tag::same_file, Dependency::no_other);
  if (in.at(Tag::modified_ns)) {
    lookup.modified_ns = static_cast<std::int64_t>(in.number(Tag::modified_ns));
    if (lookup.modified_ns == 0) in.reject();
  }
  const auto is_earlier = [&](std::uint32_t other) { return other < position; };
  const bool has_parent = lookup.parent < Dependency::at_place;
  if ((has_parent && !is_earlier(lookup.parent)) ||
      (lookup.same_path != Dependency::no_other && !is_earlier(lookup.same_path)) ||
      (lookup.same_file != Dependency::no_other && !is_earlier(lookup.same_file))) {
    in.reject();
  }
  return lookup;
}

}  // namespace

std::string Request::material() const {
  FieldWriter out;
  out.number(Tag::request_version, request_version);
  out.bytes(Tag::program, program);
  out.digest(Tag::source, source);
  out.number(Tag::source_bytes, source_bytes);
  for (const std::string& option : options) out.bytes(Tag::option, option);
  for (const std::string& expression : expressions) out.bytes(Tag::expression, expression);
  out.bytes(Tag::arch, arch);
  out.bytes(Tag::kind, kind);
  out.number(Tag::standard_headers, standard_headers ? 1 : 0);
  return out.take();
}

std::optional<Request> Request::from_material(std::string_view material) {
  FieldReader in(material);
  if (in.number(Tag::request_version) != request_version) return std::nullopt;
  Request request;
  request.program = in.text(Tag::program);
  request.source = in.digest(Tag::source);
  request.source_bytes = in.number(Tag::source_bytes);
  while (in.at(Tag::option)) request.options.push_back(in.text(Tag::option));
  while (in.at(Tag::expression)) request.expressions.push_back(in.text(Tag::expression));
  request.arch = in.text(Tag::arch);
  request.kind = in.text(Tag::kind);
  request.standard_headers = read_flag(in, Tag::standard_headers);
  if (!in.finished()) return std::nullopt;
  return request;
}

std::string DependencySet::material() const {
  FieldWriter out;
  out.number(Tag::dependencies_version, dependencies_version);
  out.bytes(Tag::working_directory, working_directory);
  if (directories != 0) out.number(Tag::directories, directories);
  if (!embedded_names.empty()) out.digest(Tag::embedded_names, embedded_names);
  for (const Dependency& lookup : lookups) write(out, lookup);
  return out.take();
}

std::optional<DependencySet> DependencySet::from_material(std::string_view material) {
  FieldReader in(material);
  if (in.number(Tag::dependencies_version) != dependencies_version) return std::nullopt;
  DependencySet set;
  set.working_directory = in.text(Tag::working_directory);
  if (in.at(Tag::directories)) {
    set.directories = in.number32(Tag::directories);
    if (set.directories == 0) in.reject();
  }
  if (in.at(Tag::embedded_names)) {
    set.embedded_names = in.digest(Tag::embedded_names);
    if (set.embedded_names.empty()) in.reject();
  }
  while (in.at(Tag::spelling)) set.lookups.push_back(read_lookup(in, set.lookups.size()));
  if (!in.finished()) return std::nullopt;
  return set;
}

Digest key_of(const Digest& request, const Digest& dependencies, const Digest& toolchain) noexcept {
  FieldWriter out;
  out.number(Tag::key_version, key_version);
  out.digest(Tag::request_digest, request);
  out.digest(Tag::dependencies_digest, dependencies);
  out.digest(Tag::toolchain_identity, toolchain);
  return digest_of(out.take());
}

}  // namespace kiln
