#include "kiln/request.h"

#include <utility>

#include "fields.h"

namespace kiln {
namespace {

using storage::FieldReader;
using storage::FieldWriter;
using storage::Tag;

constexpr std::uint64_t request_version = 1;
constexpr std::uint64_t dependencies_version = 1;
constexpr std::uint64_t key_version = 1;

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
  if (!in.finished()) return std::nullopt;
  return request;
}

std::string DependencySet::material() const {
  FieldWriter out;
  out.number(Tag::dependencies_version, dependencies_version);
  out.bytes(Tag::working_directory, working_directory);
  for (const Dependency& lookup : lookups) {
    out.bytes(Tag::spelling, lookup.spelling);
    if (lookup.parent != Dependency::no_parent) out.number(Tag::parent, lookup.parent);
    out.digest(Tag::content, lookup.content);
    out.bytes(Tag::path, lookup.path);
  }
  return out.take();
}

std::optional<DependencySet> DependencySet::from_material(std::string_view material) {
  FieldReader in(material);
  if (in.number(Tag::dependencies_version) != dependencies_version) return std::nullopt;
  DependencySet set;
  set.working_directory = in.text(Tag::working_directory);
  while (in.at(Tag::spelling)) {
    Dependency lookup;
    lookup.spelling = in.text(Tag::spelling);
    if (in.at(Tag::parent)) {
      lookup.parent = in.number32(Tag::parent);
      const bool earlier = lookup.parent < set.lookups.size();
      if (!earlier && lookup.parent != Dependency::source_parent) return std::nullopt;
    }
    lookup.content = in.digest(Tag::content);
    lookup.path = in.text(Tag::path);
    set.lookups.push_back(std::move(lookup));
  }
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
