#include "kiln/request.h"

#include "record/fields.h"

namespace kiln {
namespace {

using storage::FieldWriter;
using storage::Tag;

constexpr std::uint64_t key_version = 1;

constexpr auto request_fields = [](auto& fields, auto& request) {
  // Names all, so that one that is added is not forgotten.
  auto& [program, source, source_bytes, options, expressions, arch, kind, standard_headers,
         engine] = request;
  const auto texts = [&](Tag tag, auto& list) {
    fields.list(tag, list, [&](auto& text) { fields.field(tag, text); });
  };
  fields.version(Tag::request_version, 2);
  fields.field(Tag::program, program);
  fields.field(Tag::source, source);
  fields.field(Tag::source_bytes, source_bytes);
  texts(Tag::option, options);
  texts(Tag::expression, expressions);
  fields.field(Tag::arch, arch);
  fields.field(Tag::kind, kind);
  fields.field(Tag::standard_headers, standard_headers);
  fields.optional(Tag::engine, engine, "");
};

constexpr auto lookup_fields = [](auto& fields, auto& lookup) {
  fields.field(Tag::spelling, lookup.spelling);
  fields.optional(Tag::parent, lookup.parent, Dependency::no_parent);
  fields.optional(Tag::beside, lookup.beside, false);
  fields.optional(Tag::tested, lookup.tested, false);
  fields.optional(Tag::reach, lookup.reach, Dependency::Reach::file);
  fields.require(lookup.reach <= Dependency::Reach::presence);
  fields.optional(Tag::as_spelled, lookup.as_spelled, false);
  fields.field(Tag::content, lookup.content);
  fields.field(Tag::path, lookup.path);
  fields.optional(Tag::same_path, lookup.same_path, Dependency::no_other);
  fields.optional(Tag::same_file, lookup.same_file, Dependency::no_other);
  fields.optional(Tag::modified_ns, lookup.modified_ns, 0);
};

/// Whether it refers only to look-ups before its own position.
bool refers_to_earlier(const Dependency& lookup, std::size_t position) {
  const auto earlier_or = [&](std::uint32_t other, bool none) { return none || other < position; };
  return earlier_or(lookup.parent, lookup.parent >= Dependency::at_place) &&
         earlier_or(lookup.same_path, lookup.same_path == Dependency::no_other) &&
         earlier_or(lookup.same_file, lookup.same_file == Dependency::no_other);
}

constexpr auto dependencies_fields = [](auto& fields, auto& set) {
  fields.version(Tag::dependencies_version, 2);
  fields.field(Tag::working_directory, set.working_directory);
  fields.optional(Tag::directories, set.directories, 0);
  fields.optional(Tag::embedded_names, set.embedded_names, {});
  fields.list(Tag::spelling, set.lookups, [&](auto& lookup) {
    lookup_fields(fields, lookup);
    fields.require(refers_to_earlier(lookup, set.lookups.size()));
  });
};

}  // namespace

std::string Request::material() const { return storage::write_record(*this, request_fields); }

std::optional<Request> Request::from_material(std::string_view material) {
  return storage::read_record<Request>(material, request_fields);
}

std::string DependencySet::material() const {
  return storage::write_record(*this, dependencies_fields);
}

std::optional<DependencySet> DependencySet::from_material(std::string_view material) {
  return storage::read_record<DependencySet>(material, dependencies_fields);
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
