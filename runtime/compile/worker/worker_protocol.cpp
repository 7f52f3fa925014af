#include "compile/worker/worker_protocol.h"

#include <algorithm>
#include <concepts>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

namespace kiln {

namespace {

constexpr std::string_view magic = "kilnwrk1";
constexpr std::size_t header_size = magic.size() + 1 + 8;

// The largest enumerator: what is beyond it is none.
template <class Enum>
constexpr Enum last;
template <>
constexpr auto last<Origin> = Origin::bundle;
template <>
constexpr auto last<ErrorCode> = ErrorCode::io_failed;

// Appends fields to a record, which holds no names. Reader has a function for each of these, of the same name.
class Writer {
 public:
  template <class... Values>
  void fields(const Values&... values) {
    (field(values), ...);
  }

  void field(const std::string& text) { put(text); }
  void field(const Bytes& bytes) { put(bytes); }
  void field(const Digest& digest) { record_.append(digest.view()); }
  void field(bool flag) { record_.push_back(flag ? '\1' : '\0'); }
  void field(ImageKind kind) { put(to_string(kind)); }

  template <std::integral Number>
  void field(Number number) {
    const std::uint64_t value = static_cast<std::make_unsigned_t<Number>>(number);
    for (int shift = 0; shift < 64; shift += 8) {
      record_.push_back(static_cast<char>(value >> shift));
    }
  }

  template <class Enum>
  requires std::is_enum_v<Enum>
  void field(Enum value) { field(static_cast<std::uint64_t>(value)); }

  template <class Item>
  void field(const std::vector<Item>& items) {
    field(items.size());
    for (const auto& item : items) field(item);
  }

  template <class Item>
  void field(const std::optional<Item>& item) {
    field(item.has_value());
    if (item) field(*item);
  }

  template <class Value>
  void field(const tl::expected<Value, Error>& result) {
    field(result.has_value());
    if (result) {
      field(*result);
    } else {
      field(result.error());
    }
  }

  template <class Struct>
  requires std::is_class_v<Struct>
  void field(const Struct& value) { visit(*this, value); }

  [[nodiscard]] std::string take() noexcept { return std::move(record_); }

 private:
  void put(std::string_view text) {
    field(text.size());
    record_.append(text);
  }

  std::string record_;
};

// Takes fields off a record in the order in which they were written. Once something is not there, every later
// field is empty, so that a decoder checks at its end.
class Reader {
 public:
  explicit Reader(std::string_view record) noexcept : rest_(record) {}

  template <class... Values>
  void fields(Values&... values) {
    (field(values), ...);
  }

  template <class Value>
  Value next() {
    Value value{};
    field(value);
    return value;
  }

  void field(std::string& text) { text = take(next<std::uint64_t>()); }
  void field(Bytes& bytes) { bytes = next<std::string>(); }

  void field(Digest& digest) {
    const auto bytes = take(digest.bytes.size());
    std::copy(bytes.begin(), bytes.end(), digest.bytes.begin());
  }

  void field(bool& flag) {
    const auto byte = take(1);
    if (!byte.empty() && byte[0] != '\0' && byte[0] != '\1') failed_ = true;
    flag = !failed_ && byte[0] == '\1';
  }

  void field(ImageKind& kind) {
    const auto parsed = parse_image_kind(next<std::string>());
    if (!parsed) failed_ = true;
    kind = parsed.value_or(ImageKind::cubin);
  }

  template <std::integral Number>
  void field(Number& number) {
    using Unsigned = std::make_unsigned_t<Number>;
    number = static_cast<Number>(number_up_to(std::numeric_limits<Unsigned>::max()));
  }

  template <class Enum>
  requires std::is_enum_v<Enum>
  void field(Enum& value) {
    value = static_cast<Enum>(number_up_to(static_cast<std::uint64_t>(last<Enum>)));
  }

  // Reserves nothing: a count may be any number, while each item takes bytes of the record.
  template <class Item>
  void field(std::vector<Item>& items) {
    for (auto count = next<std::uint64_t>(); count > 0 && !failed_; --count)
      field(items.emplace_back());
  }

  template <class Item>
  void field(std::optional<Item>& item) {
    if (next<bool>()) field(item.emplace());
  }

  template <class Value>
  void field(tl::expected<Value, Error>& result) {
    if (next<bool>()) {
      result = next<Value>();
    } else {
      result = tl::unexpected(next<Error>());
    }
  }

  template <class Struct>
  requires std::is_class_v<Struct>
  void field(Struct& value) { visit(*this, value); }

  [[nodiscard]] bool finished() const noexcept { return !failed_ && rest_.empty(); }

 private:
  std::uint64_t number_up_to(std::uint64_t most) {
    std::uint64_t value = 0;
    const auto bytes = take(8);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      value |= std::uint64_t{static_cast<std::uint8_t>(bytes[at])} << (8 * at);
    }
    if (value > most) failed_ = true;
    return failed_ ? 0 : value;
  }

  std::string_view take(std::uint64_t size) {
    if (failed_ || size > rest_.size()) {
      failed_ = true;
      return {};
    }
    const auto bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

  std::string_view rest_;
  bool failed_ = false;
};

// The given struct, to be read, or a constant one, to be written.
template <class Given, class Struct>
concept Of = std::same_as<std::remove_const_t<Given>, Struct>;

// The bindings name every member, so that one that is added to a struct stops the build here.

void visit(auto& record, Of<HeaderForCompiler> auto& header) {
  auto& [name, content] = header;
  record.fields(name, content);
}

void visit(auto& record, Of<CompileJob> auto& job) {
  auto& [program, source, embedded, include_dirs, expressions, options, arch, kind, seed, prelude,
         prelude_repeats, names_roots, trace_file] = job;
  record.fields(program, source, embedded, include_dirs, expressions, options, arch, kind, seed,
                prelude, prelude_repeats, names_roots, trace_file);
}

void visit(auto& record, Of<WorkerRequest> auto& request) {
  auto& [job, working_directory] = request;
  record.fields(job, working_directory);
}

void visit(auto& record, Of<WorkerSetup> auto& setup) {
  auto& [nvrtc, toolchain, memory_bytes, precompiled_max_bytes, precompiled_large_pages,
         runtime_process] = setup;
  record.fields(nvrtc, toolchain, memory_bytes, precompiled_max_bytes, precompiled_large_pages,
                runtime_process);
}

void visit(auto& record, Of<Parameter> auto& parameter) {
  auto& [offset, size] = parameter;
  record.fields(offset, size);
}

void visit(auto& record, Of<KernelInfo> auto& kernel) {
  auto& [expression, symbol, registers, shared_bytes, local_bytes, params_known, params] = kernel;
  record.fields(expression, symbol, registers, shared_bytes, local_bytes, params_known, params);
}

void visit(auto& record, Of<Artifact> auto& artifact) {
  auto& [key, program, arch, kind, image, kernels, log, toolchain, compile_us, origin, source_text,
         not_kept] = artifact;
  record.fields(key, program, arch, kind, image, kernels, log, toolchain, compile_us, origin,
                source_text, not_kept);
}

void visit(auto& record, Of<FileStamp> auto& stamp) {
  auto& [device, inode, size, modified_ns, changed_ns] = stamp;
  record.fields(device, inode, size, modified_ns, changed_ns);
}

void visit(auto& record, Of<Reading> auto& file) {
  auto& [path, root, found, content, stamp, asked_at, read_at] = file;
  record.fields(path, root, found, content, stamp, asked_at, read_at);
}

void visit(auto& record, Of<EmbeddedReading> auto& header) {
  auto& [name, read_at] = header;
  record.fields(name, read_at);
}

void visit(auto& record, Of<Readings> auto& readings) {
  auto& [files, embedded, working_directory, rooted, relative, doubt] = readings;
  record.fields(files, embedded, working_directory, rooted, relative, doubt);
}

void visit(auto& record, Of<CompileOutcome> auto& outcome) {
  auto& [artifact, readings, precompiled] = outcome;
  record.fields(artifact, readings, precompiled);
}

void visit(auto& record, Of<Error> auto& error) {
  auto& [code, message, log, vendor_code] = error;
  record.fields(code, message, log, vendor_code);
}

template <class... Values>
std::string encode(const Values&... values) {
  Writer out;
  out.fields(values...);
  return out.take();
}

template <class Value>
std::optional<Value> decode(std::string_view record) {
  Reader in(record);
  auto value = in.next<Value>();
  if (!in.finished()) return std::nullopt;
  return value;
}

}  // namespace

std::string frame_of(MessageKind kind, std::string_view payload) {
  std::string frame(magic);
  frame.reserve(header_size + payload.size());
  frame.push_back(static_cast<char>(kind));
  return frame.append(encode(std::uint64_t{payload.size()})).append(payload);
}

void MessageAssembler::add(std::string_view bytes) {
  if (!broken_) bytes_.append(bytes);
}

std::optional<Message> MessageAssembler::take() {
  const std::string_view all = bytes_;
  // The first wrong byte tells, whatever is still to come.
  if (!magic.starts_with(all.substr(0, magic.size()))) broken_ = true;
  if (broken_ || all.size() < header_size) return std::nullopt;
  const auto kind = static_cast<MessageKind>(all[magic.size()]);
  const auto size = decode<std::uint64_t>(all.substr(magic.size() + 1, 8));
  if (kind < MessageKind::hello || kind > MessageKind::outcome || *size > most_payload) {
    broken_ = true;
    return std::nullopt;
  }
  if (all.size() - header_size < *size) return std::nullopt;
  Message message{kind, std::string(all.substr(header_size, *size))};
  bytes_.erase(0, header_size + *size);
  return message;
}

std::string encode_setup(const WorkerSetup& setup) { return encode(setup); }

std::optional<WorkerSetup> decode_setup(std::string_view record) {
  return decode<WorkerSetup>(record);
}

// As a WorkerRequest, without a copy of the job.
std::string encode_request(const CompileJob& job, std::string_view working_directory) {
  return encode(job, std::string(working_directory));
}

std::optional<WorkerRequest> decode_request(std::string_view record) {
  return decode<WorkerRequest>(record);
}

std::string encode_outcome(const Result<CompileOutcome>& outcome) { return encode(outcome); }

std::optional<Result<CompileOutcome>> decode_outcome(std::string_view record) {
  return decode<Result<CompileOutcome>>(record);
}

}  // namespace kiln
