#include "compile/worker/worker_protocol.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kiln::test {
namespace {

// With NUL bytes and bytes that are no text.
const std::string odd("a\0b\xff\n", 5);

CompileJob whole_job() {
  CompileJob job;
  job.program = "engine/attention.cu";
  job.source = "source " + odd;
  job.embedded = {{"a.cuh", "text " + odd}, {"", ""}};
  job.include_dirs = {"/some/folder", "/another"};
  job.expressions = {"attention<64>", "attention<128>"};
  job.options = {"--std=c++20", "", odd};
  job.arch = "sm_90a";
  job.kind = ImageKind::ltoir;
  job.seed = digest_of("seed");
  job.prelude = digest_of("prelude");
  job.prelude_repeats = true;
  job.prelude_is_open = true;
  job.trace_file = "/scratch/trace";
  return job;
}

CompileOutcome whole_outcome() {
  CompileOutcome outcome;
  Artifact& artifact = outcome.artifact;
  artifact.key = digest_of("key");
  artifact.program = "engine/attention.cu";
  artifact.arch = "sm_90a";
  artifact.kind = "cubin";
  artifact.image = "image " + odd;
  artifact.kernels = {{"attention<64>", "_Z9", 255, 49'152, 16, true, {{0, 8}, {8, 128}}},
                      {"attention<128>", "_Z10", 0, 0, 0, false, {}}};
  artifact.log = "warning\n";
  artifact.toolchain = "NVRTC 13.0";
  artifact.compile_us = 1'234'567'890'123;
  artifact.origin = Origin::bundle;
  outcome.readings = Readings{
      {{"/usr/include/b.h", 7, true, digest_of("b"), {1, 2, 0x1234'5678'9abc, -4, 5}, 1, 3},
       {.path = odd, .asked_at = 2}},
      {{"a.cuh", 4}, {odd, 5}},
      "/working/directory",
      true,
      true,
      "doubt " + odd};
  outcome.precompiled = true;
  return outcome;
}

void expect_same(const Artifact& left, const Artifact& right) {
  EXPECT_EQ(left.key, right.key);
  EXPECT_EQ(left.program, right.program);
  EXPECT_EQ(left.arch, right.arch);
  EXPECT_EQ(left.kind, right.kind);
  EXPECT_EQ(left.image, right.image);
  EXPECT_EQ(left.kernels, right.kernels);
  EXPECT_EQ(left.log, right.log);
  EXPECT_EQ(left.toolchain, right.toolchain);
  EXPECT_EQ(left.compile_us, right.compile_us);
  EXPECT_EQ(left.origin, right.origin);
}

TEST(WorkerProtocol, ARequestKeepsAll) {
  const auto job = whole_job();
  const Standing standing{"/working/directory", 3, 4};
  const auto request = decode_request(encode_request(job, standing));
  ASSERT_TRUE(request);
  EXPECT_EQ(request->standing, standing);
  EXPECT_EQ(request->job.program, job.program);
  EXPECT_EQ(request->job.source, job.source);
  ASSERT_EQ(request->job.embedded.size(), job.embedded.size());
  for (std::size_t at = 0; at < job.embedded.size(); ++at) {
    EXPECT_EQ(request->job.embedded[at].name, job.embedded[at].name);
    EXPECT_EQ(request->job.embedded[at].text, job.embedded[at].text);
  }
  EXPECT_EQ(request->job.include_dirs, job.include_dirs);
  EXPECT_EQ(request->job.expressions, job.expressions);
  EXPECT_EQ(request->job.options, job.options);
  EXPECT_EQ(request->job.arch, job.arch);
  EXPECT_EQ(request->job.kind, job.kind);
  EXPECT_EQ(request->job.seed, job.seed);
  EXPECT_EQ(request->job.prelude, job.prelude);
  EXPECT_EQ(request->job.prelude_repeats, job.prelude_repeats);
  EXPECT_EQ(request->job.prelude_is_open, job.prelude_is_open);
  EXPECT_EQ(request->job.trace_file, job.trace_file);
}

TEST(WorkerProtocol, AnOutcomeKeepsAll) {
  const auto outcome = whole_outcome();
  const auto decoded = decode_outcome(encode_outcome(outcome));
  ASSERT_TRUE(decoded && decoded->has_value());
  expect_same((*decoded)->artifact, outcome.artifact);
  ASSERT_TRUE((*decoded)->readings);
  const auto& readings = *(*decoded)->readings;
  EXPECT_EQ(readings.files, outcome.readings->files);
  EXPECT_EQ(readings.embedded, outcome.readings->embedded);
  EXPECT_EQ(readings.working_directory, outcome.readings->working_directory);
  EXPECT_TRUE(readings.relative);
  EXPECT_EQ(readings.doubt, outcome.readings->doubt);
  EXPECT_TRUE((*decoded)->precompiled);

  auto unknown = whole_outcome();
  unknown.readings.reset();
  const auto without = decode_outcome(encode_outcome(unknown));
  ASSERT_TRUE(without && without->has_value());
  EXPECT_FALSE((*without)->readings);
}

TEST(WorkerProtocol, AnErrorKeepsAll) {
  const Error error{ErrorCode::io_failed, "message " + odd, "log " + odd, -7};
  const auto decoded = decode_outcome(encode_outcome(tl::unexpected(error)));
  ASSERT_TRUE(decoded && !decoded->has_value());
  EXPECT_EQ(decoded->error().code, error.code);
  EXPECT_EQ(decoded->error().message, error.message);
  EXPECT_EQ(decoded->error().log, error.log);
  EXPECT_EQ(decoded->error().vendor_code, error.vendor_code);
}

TEST(WorkerProtocol, ASetupKeepsAll) {
  const WorkerSetup setup{
      "/usr/lib/libnvrtc.so.13", digest_of("toolchain"), 5ULL << 30, 4711, false, 0};
  const auto decoded = decode_setup(encode_setup(setup));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->nvrtc, setup.nvrtc);
  EXPECT_EQ(decoded->toolchain, setup.toolchain);
  EXPECT_EQ(decoded->memory_bytes, setup.memory_bytes);
  EXPECT_EQ(decoded->runtime_process, setup.runtime_process);
}

TEST(WorkerProtocol, WhatIsCutOrTooLongIsNothing) {
  const auto request = encode_request(whole_job(), {"/working/directory", 3, 4});
  const auto outcome = encode_outcome(whole_outcome());
  for (std::size_t size = 0; size < request.size(); ++size) {
    EXPECT_FALSE(decode_request(request.substr(0, size))) << size;
  }
  for (std::size_t size = 0; size < outcome.size(); ++size) {
    EXPECT_FALSE(decode_outcome(outcome.substr(0, size))) << size;
  }
  EXPECT_FALSE(decode_request(request + '\0'));
  EXPECT_FALSE(decode_outcome(outcome + '\0'));
}

TEST(WorkerProtocol, MessagesComeTogetherByteByByte) {
  const auto stream = frame_of(MessageKind::hello, "build") + frame_of(MessageKind::job, odd) +
                      frame_of(MessageKind::outcome, "");
  MessageAssembler assembler;
  std::vector<std::pair<MessageKind, std::string>> messages;
  for (const char byte : stream) {
    assembler.add({&byte, 1});
    while (auto message = assembler.take()) messages.emplace_back(message->kind, message->payload);
  }
  EXPECT_FALSE(assembler.broken());
  const std::vector<std::pair<MessageKind, std::string>> expected{
      {MessageKind::hello, "build"}, {MessageKind::job, odd}, {MessageKind::outcome, ""}};
  EXPECT_EQ(messages, expected);
}

TEST(WorkerProtocol, WhatIsNoMessageBreaksTheStreamForGood) {
  const auto frame = frame_of(MessageKind::hello, "build");
  auto unknown_kind = frame;
  unknown_kind[8] = 99;
  auto too_long = frame;
  too_long[16] = 127;
  for (const auto& bytes : {std::string("x"), std::string("kilnwrk2"), unknown_kind, too_long}) {
    MessageAssembler assembler;
    assembler.add(bytes);
    EXPECT_FALSE(assembler.take());
    EXPECT_TRUE(assembler.broken());
    assembler.add(frame);
    EXPECT_FALSE(assembler.take());
  }
}

}  // namespace
}  // namespace kiln::test
