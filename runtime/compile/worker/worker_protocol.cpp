#include "compile/worker/worker_protocol.h"

#include <utility>

#include "base/wire_record.h"

namespace kiln {

namespace {

constexpr std::string_view magic = "kilnwrk1";
constexpr std::size_t header_size = magic.size() + 1 + 8;

}  // namespace

using wire::decode;
using wire::encode;
using wire::Of;

// The bindings name every member, so that one that is added to a struct stops the build here.

void visit(auto& record, Of<HeaderForCompiler> auto& header) {
  auto& [name, content] = header;
  record.fields(name, content);
}

void visit(auto& record, Of<CompileJob> auto& job) {
  auto& [program, source, embedded, include_dirs, expressions, options, arch, kind, seed, prelude,
         prelude_repeats, prelude_is_open, names_roots, trace_file] = job;
  record.fields(program, source, embedded, include_dirs, expressions, options, arch, kind, seed,
                prelude, prelude_repeats, prelude_is_open, names_roots, trace_file);
}

void visit(auto& record, Of<Standing> auto& standing) {
  auto& [path, device, inode] = standing;
  record.fields(path, device, inode);
}

void visit(auto& record, Of<WorkerRequest> auto& request) {
  auto& [job, standing] = request;
  record.fields(job, standing);
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
  if (kind < MessageKind::hello || kind > MessageKind::elsewhere || *size > most_payload) {
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
std::string encode_request(const CompileJob& job, const Standing& standing) {
  return encode(job, standing);
}

std::optional<WorkerRequest> decode_request(std::string_view record) {
  return decode<WorkerRequest>(record);
}

std::string encode_outcome(const Result<CompileOutcome>& outcome) { return encode(outcome); }

std::optional<Result<CompileOutcome>> decode_outcome(std::string_view record) {
  return decode<Result<CompileOutcome>>(record);
}

}  // namespace kiln
