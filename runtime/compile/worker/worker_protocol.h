#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/working_directory.h"
#include "compile/compile_job.h"
#include "kiln/digest.h"
#include "kiln/error.h"

namespace kiln {

/// The kinds of messages between a runtime and its worker.
enum class MessageKind : std::uint8_t {
  hello = 1,      ///< Both ways, first: the sender's build identity.
  setup = 2,      ///< To the worker, once: WorkerSetup.
  job = 3,        ///< To the worker: WorkerRequest.
  outcome = 4,    ///< From the worker, one for each job: Result<CompileOutcome>;
  elsewhere = 5,  ///< or that it cannot stand where the runtime does.
};

struct Message {
  MessageKind kind = MessageKind::hello;
  std::string payload;
};

/// Longest payload that is accepted.
constexpr std::size_t most_payload = std::size_t{1} << 30;

/// A message as it travels: magic, kind, length, payload.
[[nodiscard]] std::string frame_of(MessageKind kind, std::string_view payload);

/// Makes messages of a stream of bytes. It takes any bytes; after bytes that are no frame it stays broken.
class MessageAssembler {
 public:
  void add(std::string_view bytes);
  /// The next whole message, or nothing yet.
  [[nodiscard]] std::optional<Message> take();
  [[nodiscard]] bool broken() const noexcept { return broken_; }

 private:
  std::string bytes_;
  bool broken_ = false;
};

/// What the runtime tells a worker once.
struct WorkerSetup {
  std::string nvrtc;               ///< The library's file; no other is searched for.
  Digest toolchain;                ///< The identity that the runtime keys with.
  std::uint64_t memory_bytes = 0;  ///< Of address space.
  std::uint64_t precompiled_max_bytes = 0;
  bool precompiled_large_pages = true;
  std::int64_t runtime_process = 0;  ///< The worker ends with this process.
};

/// One job and its working directory, which reaches the output with line information and is where an embedded header that
/// quotes another is followed.
struct WorkerRequest {
  CompileJob job;
  Standing standing;
};

/// Write these values as records, and read them back. Each value has exactly one record. Decoding takes
/// any bytes, gives nothing for bytes that no encoder wrote, and uses memory in proportion to its input.
[[nodiscard]] std::string encode_setup(const WorkerSetup& setup);
[[nodiscard]] std::optional<WorkerSetup> decode_setup(std::string_view record);
[[nodiscard]] std::string encode_request(const CompileJob& job, const Standing& standing);
[[nodiscard]] std::optional<WorkerRequest> decode_request(std::string_view record);
[[nodiscard]] std::string encode_outcome(const Result<CompileOutcome>& outcome);
[[nodiscard]] std::optional<Result<CompileOutcome>> decode_outcome(std::string_view record);

/// A worker that ran out of memory exits with this status.
constexpr int worker_out_of_memory_status = 77;

}  // namespace kiln
