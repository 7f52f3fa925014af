#include "compile/worker/worker_protocol.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace kiln {

namespace {

constexpr std::string_view magic = "kilnwrk1";
constexpr std::size_t header_size = magic.size() + 1 + 8;

class Writer {
 public:
  void number(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) {
      record_.push_back(static_cast<char>(value >> shift));
    }
  }
  void text(std::string_view value) {
    number(value.size());
    record_.append(value);
  }
  void digest(const Digest& value) { record_.append(value.view()); }
  void flag(bool value) { record_.push_back(value ? '\1' : '\0'); }

  template <class Range, class Write>
  void list(const Range& range, Write write) {
    number(range.size());
    for (const auto& item : range) write(item);
  }

  [[nodiscard]] std::string take() noexcept { return std::move(record_); }

 private:
  std::string record_;
};

// Once something is not there, every later read gives nothing, so that a decoder checks at its end.
class Reader {
 public:
  explicit Reader(std::string_view record) noexcept : rest_(record) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    const auto bytes = take(8);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      value |= std::uint64_t{static_cast<std::uint8_t>(bytes[at])} << (8 * at);
    }
    return value;
  }

  template <class Number>
  Number number_up_to(std::uint64_t most) {
    const auto value = number();
    if (value > most) failed_ = true;
    return failed_ ? Number{} : static_cast<Number>(value);
  }

  std::uint32_t number32() {
    return number_up_to<std::uint32_t>(std::numeric_limits<std::uint32_t>::max());
  }

  std::string text() {
    const auto size = number();
    return std::string(take(size));
  }

  Digest digest() {
    Digest value;
    const auto bytes = take(value.bytes.size());
    std::transform(bytes.begin(), bytes.end(), value.bytes.begin(),
                   [](char byte) { return static_cast<std::uint8_t>(byte); });
    return value;
  }

  bool flag() {
    const auto byte = take(1);
    if (!byte.empty() && byte[0] != '\0' && byte[0] != '\1') failed_ = true;
    return !failed_ && byte[0] == '\1';
  }

  // Reserves nothing: a count may be any number, while each item takes bytes of the record.
  template <class Item, class Read>
  std::vector<Item> list(Read read) {
    std::vector<Item> items;
    for (auto count = number(); count > 0 && !failed_; --count) items.push_back(read());
    return items;
  }

  [[nodiscard]] bool finished() const noexcept { return !failed_ && rest_.empty(); }
  void reject() noexcept { failed_ = true; }

 private:
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

ImageKind read_kind(Reader& in) {
  const auto kind = parse_image_kind(in.text());
  if (!kind) in.reject();
  return kind.value_or(ImageKind::cubin);
}

// The bindings name every member, so that one that is added to a struct stops the build here.

void write(Writer& out, const CompileJob& job) {
  const auto& [program, source, embedded, include_dirs, expressions, options, arch, kind, seed,
               prelude, prelude_repeats] = job;
  const auto text = [&out](const std::string& item) { out.text(item); };
  out.text(program);
  out.text(source);
  out.list(embedded, [&out](const HeaderForCompiler& header) {
    const auto& [name, content] = header;
    out.text(name);
    out.text(content);
  });
  out.list(include_dirs, text);
  out.list(expressions, text);
  out.list(options, text);
  out.text(arch);
  out.text(to_string(kind));
  out.digest(seed);
  out.digest(prelude);
  out.flag(prelude_repeats);
}

CompileJob read_job(Reader& in) {
  CompileJob job;
  auto& [program, source, embedded, include_dirs, expressions, options, arch, kind, seed, prelude,
         prelude_repeats] = job;
  const auto text = [&in] { return in.text(); };
  program = in.text();
  source = in.text();
  embedded = in.list<HeaderForCompiler>([&in] {
    HeaderForCompiler header;
    auto& [name, content] = header;
    name = in.text();
    content = in.text();
    return header;
  });
  include_dirs = in.list<std::string>(text);
  expressions = in.list<std::string>(text);
  options = in.list<std::string>(text);
  arch = in.text();
  kind = read_kind(in);
  seed = in.digest();
  prelude = in.digest();
  prelude_repeats = in.flag();
  return job;
}

void write(Writer& out, const KernelInfo& kernel) {
  const auto& [expression, symbol, registers, shared_bytes, local_bytes, params_known, params] =
      kernel;
  out.text(expression);
  out.text(symbol);
  out.number(registers);
  out.number(shared_bytes);
  out.number(local_bytes);
  out.flag(params_known);
  out.list(params, [&out](const Parameter& parameter) {
    const auto& [offset, size] = parameter;
    out.number(offset);
    out.number(size);
  });
}

KernelInfo read_kernel(Reader& in) {
  KernelInfo kernel;
  auto& [expression, symbol, registers, shared_bytes, local_bytes, params_known, params] = kernel;
  expression = in.text();
  symbol = in.text();
  registers = in.number32();
  shared_bytes = in.number32();
  local_bytes = in.number32();
  params_known = in.flag();
  params = in.list<Parameter>([&in] {
    Parameter parameter;
    auto& [offset, size] = parameter;
    offset = in.number32();
    size = in.number32();
    return parameter;
  });
  return kernel;
}

void write(Writer& out, const Artifact& artifact) {
  const auto& [key, program, arch, kind, image, kernels, log, toolchain, compile_us, origin,
               not_kept] = artifact;
  out.digest(key);
  out.text(program);
  out.text(arch);
  out.text(kind);
  out.text(image);
  out.list(kernels, [&out](const KernelInfo& kernel) { write(out, kernel); });
  out.text(log);
  out.text(toolchain);
  out.number(compile_us);
  out.number(static_cast<std::uint64_t>(origin));
  out.text(not_kept);
}

Artifact read_artifact(Reader& in) {
  Artifact artifact;
  auto& [key, program, arch, kind, image, kernels, log, toolchain, compile_us, origin, not_kept] =
      artifact;
  key = in.digest();
  program = in.text();
  arch = in.text();
  kind = in.text();
  image = in.text();
  kernels = in.list<KernelInfo>([&in] { return read_kernel(in); });
  log = in.text();
  toolchain = in.text();
  compile_us = in.number();
  origin = in.number_up_to<Origin>(static_cast<std::uint64_t>(Origin::bundle));
  not_kept = in.text();
  return artifact;
}

void write(Writer& out, const Error& error) {
  const auto& [code, message, log, vendor_code] = error;
  out.number(static_cast<std::uint64_t>(code));
  out.text(message);
  out.text(log);
  out.number(static_cast<std::uint32_t>(vendor_code));
}

Error read_error(Reader& in) {
  Error error;
  auto& [code, message, log, vendor_code] = error;
  code = in.number_up_to<ErrorCode>(static_cast<std::uint64_t>(ErrorCode::io_failed));
  message = in.text();
  log = in.text();
  vendor_code = static_cast<int>(in.number32());
  return error;
}

void write(Writer& out, const Readings& readings) {
  const auto& [files, embedded, working_directory, relative, doubt] = readings;
  out.list(files, [&out](const Reading& file) {
    const auto& [path, found, content, stamp, asked_at, read_at] = file;
    const auto& [device, inode, size, modified_ns, changed_ns] = stamp;
    out.text(path);
    out.flag(found);
    out.digest(content);
    out.number(device);
    out.number(inode);
    out.number(size);
    out.number(static_cast<std::uint64_t>(modified_ns));
    out.number(static_cast<std::uint64_t>(changed_ns));
    out.number(asked_at);
    out.number(read_at);
  });
  out.list(embedded, [&out](const EmbeddedReading& header) {
    const auto& [name, read_at] = header;
    out.text(name);
    out.number(read_at);
  });
  out.text(working_directory);
  out.flag(relative);
  out.text(doubt);
}

Readings read_readings(Reader& in) {
  Readings readings;
  auto& [files, embedded, working_directory, relative, doubt] = readings;
  files = in.list<Reading>([&in] {
    Reading file;
    auto& [path, found, content, stamp, asked_at, read_at] = file;
    auto& [device, inode, size, modified_ns, changed_ns] = stamp;
    path = in.text();
    found = in.flag();
    content = in.digest();
    device = in.number();
    inode = in.number();
    size = in.number();
    modified_ns = static_cast<std::int64_t>(in.number());
    changed_ns = static_cast<std::int64_t>(in.number());
    asked_at = in.number32();
    read_at = in.number32();
    return file;
  });
  embedded = in.list<EmbeddedReading>([&in] {
    EmbeddedReading header;
    auto& [name, read_at] = header;
    name = in.text();
    read_at = in.number32();
    return header;
  });
  working_directory = in.text();
  relative = in.flag();
  doubt = in.text();
  return readings;
}

void write(Writer& out, const CompileOutcome& outcome) {
  const auto& [artifact, readings, precompiled] = outcome;
  write(out, artifact);
  out.flag(readings.has_value());
  if (readings) write(out, *readings);
  out.flag(precompiled);
}

CompileOutcome read_compile_outcome(Reader& in) {
  CompileOutcome outcome;
  auto& [artifact, readings, precompiled] = outcome;
  artifact = read_artifact(in);
  if (in.flag()) readings = read_readings(in);
  precompiled = in.flag();
  return outcome;
}

}  // namespace

std::string frame_of(MessageKind kind, std::string_view payload) {
  Writer length;
  length.number(payload.size());
  std::string frame(magic);
  frame.reserve(header_size + payload.size());
  frame.push_back(static_cast<char>(kind));
  return frame.append(length.take()).append(payload);
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
  const auto size = Reader(all.substr(magic.size() + 1, 8)).number();
  if (kind < MessageKind::hello || kind > MessageKind::outcome || size > most_payload) {
    broken_ = true;
    return std::nullopt;
  }
  if (all.size() - header_size < size) return std::nullopt;
  Message message{kind, std::string(all.substr(header_size, size))};
  bytes_.erase(0, header_size + size);
  return message;
}

std::string encode_setup(const WorkerSetup& setup) {
  Writer out;
  const auto& [nvrtc, toolchain, memory_bytes, precompiled_max_bytes, precompiled_large_pages,
               runtime_process] = setup;
  out.text(nvrtc);
  out.digest(toolchain);
  out.number(memory_bytes);
  out.number(precompiled_max_bytes);
  out.flag(precompiled_large_pages);
  out.number(static_cast<std::uint64_t>(runtime_process));
  return out.take();
}

std::optional<WorkerSetup> decode_setup(std::string_view record) {
  Reader in(record);
  WorkerSetup setup;
  auto& [nvrtc, toolchain, memory_bytes, precompiled_max_bytes, precompiled_large_pages,
         runtime_process] = setup;
  nvrtc = in.text();
  toolchain = in.digest();
  memory_bytes = in.number();
  precompiled_max_bytes = in.number();
  precompiled_large_pages = in.flag();
  runtime_process = static_cast<std::int64_t>(in.number());
  if (!in.finished()) return std::nullopt;
  return setup;
}

std::string encode_request(const CompileJob& job, std::string_view working_directory) {
  Writer out;
  write(out, job);
  out.text(working_directory);
  return out.take();
}

std::optional<WorkerRequest> decode_request(std::string_view record) {
  Reader in(record);
  WorkerRequest request;
  auto& [job, working_directory] = request;
  job = read_job(in);
  working_directory = in.text();
  if (!in.finished()) return std::nullopt;
  return request;
}

std::string encode_outcome(const Result<CompileOutcome>& outcome) {
  Writer out;
  out.flag(outcome.has_value());
  if (outcome) {
    write(out, *outcome);
  } else {
    write(out, outcome.error());
  }
  return out.take();
}

std::optional<Result<CompileOutcome>> decode_outcome(std::string_view record) {
  Reader in(record);
  Result<CompileOutcome> outcome = tl::unexpected(Error{});
  if (in.flag()) {
    outcome = read_compile_outcome(in);
  } else {
    outcome = tl::unexpected(read_error(in));
  }
  if (!in.finished()) return std::nullopt;
  return outcome;
}

}  // namespace kiln
