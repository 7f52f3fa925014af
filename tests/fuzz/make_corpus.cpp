// Writes the seeds of every target into the folder named: tests/fuzz/corpus is what it wrote.

#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "compile/worker/worker_protocol.h"
#include "compiled.h"
#include "forge.h"
#include "record/artifact_codec.h"
#include "record/frame.h"
#include "record/parcel_codec.h"
#include "record/signature_codec.h"
#include "record/witness_codec.h"
#include "remote/remote_protocol.h"
#include "support.h"

namespace {

namespace fs = std::filesystem;

using kiln::storage::FrameEncoder;
using kiln::storage::FrameOwner;

constexpr const char* program = R"(
struct Pair { float x; double y; };
extern "C" __global__ void none() {}
extern "C" __global__ void some(float* out, int n, Pair pair) {
  __shared__ float shared[64];
  shared[threadIdx.x] = out[n] + pair.x;
  __syncthreads();
  out[0] = shared[63 - threadIdx.x] * pair.y;
}
)";

constexpr const char* spilling = R"(
extern "C" __global__ void __launch_bounds__(1024, 2) spills(double* values, int step) {
  double own[20];
  for (int i = 0; i < 20; ++i) own[i] = values[i * step];
  for (int k = 0; k < step; ++k)
    for (int i = 0; i < 20; ++i) own[i] = own[i] * own[(i + 7) % 20] + values[k];
  for (int i = 0; i < 20; ++i) values[i * step] = own[i];
}
)";

void seed(const fs::path& folder, const std::string& name, const std::string& bytes) {
  fs::create_directories(folder);
  kiln::test::write_file(folder / name, bytes);
}

std::string patch(unsigned offset, int bits) {
  std::string bytes;
  for (int i = 0; i < 3; ++i) bytes.push_back(static_cast<char>(offset >> 8 * i));
  bytes.push_back(static_cast<char>(bits));
  return bytes;
}

std::string forged(int version, int codec, unsigned raw_size, const std::string& stored) {
  std::string bytes{1, static_cast<char>(version), static_cast<char>(codec)};
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(i < 4 ? raw_size >> 8 * i : 0));
  return bytes + stored;
}

void make_frames(const fs::path& folder) {
  const FrameOwner owner{FrameOwner::Table::entries, kiln::digest_of("key"),
                         kiln::digest_of("request")};
  const std::string text(300, 'k');
  seed(folder, "plain", '\0' + FrameEncoder().encode("plain", owner));
  seed(folder, "compressed", '\0' + FrameEncoder().encode(text, owner));
  seed(folder, "forged_plain", forged(1, 0, 5, "plain"));
  seed(folder, "forged_compressed", forged(1, 1, 300, kiln::test::zstd(text)));
  seed(folder, "forged_without_size", forged(1, 1, 300, kiln::test::zstd(text, false)));
  seed(folder, "forged_version", forged(2, 0, 5, "plain"));
  seed(folder, "both_ways", '\2' + text);
}

void make_records(const fs::path& folder, const kiln::test::Sample& sample) {
  seed(folder, "artifact", '\0' + kiln::storage::encode_artifact(sample.artifact));
  seed(folder, "request", '\1' + sample.request.material());
  seed(folder, "dependencies", '\2' + sample.dependencies.material());
  seed(folder, "kernels",
       '\4' + kiln::storage::encode_kernels({{sample.artifact.kernels[0], sample.code[0]},
                                             {sample.artifact.kernels[1], sample.code[1]}}));
  const auto claim = kiln::storage::encode_claim({.signer = "farm-1",
                                                  .request = std::string(32, 'r'),
                                                  .dependencies = std::string(32, 'd'),
                                                  .source = std::string(32, 's'),
                                                  .headers = std::string(32, 'h'),
                                                  .toolchain = sample.toolchain.identity,
                                                  .toolchain_text = sample.toolchain.text,
                                                  .dependencies_bytes = 300,
                                                  .artifact_bytes = 70'000,
                                                  .artifact = std::string(32, 'a'),
                                                  .kernels = std::string(32, 'k')});
  seed(folder, "claim", '\5' + claim);
  seed(folder, "signature", '\6' + kiln::storage::encode_signature({claim, std::string(64, 's')}));
  seed(folder, "stamps", '\3' + kiln::storage::encode_stamps(sample.witness.stamps));
  const std::string object(32, 'o');
  seed(folder, "parcel",
       '\7' + kiln::storage::encode_parcel({.key = kiln::digest_of("a key"),
                                            .material = sample.request.material(),
                                            .toolchain = sample.toolchain,
                                            .dependencies_frame = "dependencies",
                                            .payload = "payload",
                                            .kernels_frame = "kernels",
                                            .signatures = {"signature"},
                                            .text_list = object}));
  seed(folder, "texts",
       '\10' + kiln::storage::encode_text_list({{kiln::digest_of(sample.source), object}}));
  seed(folder, "hint",
       '\11' + kiln::storage::encode_hint({kiln::digest_of("a key"), object, {"signature"}}));
  const kiln::remote::Introduction introduction{
      .build = "build", .address = {.url = "redis://cache"}, .trust = {}, .trusted_keys = "key"};
  seed(folder, "remote_introduction", '\12' + kiln::wire::encode(kiln::remote::Call(introduction)));
  const kiln::remote::PushEntry push{.cache = {.directory = "/cache", .max_bytes = 1 << 20},
                                     .key = kiln::digest_of("a key"),
                                     .lease = "lease"};
  seed(folder, "remote_push", '\12' + kiln::wire::encode(kiln::remote::Call(push)));
  const kiln::Result<std::vector<kiln::remote::WireHint>> hints({{object, "record"}});
  seed(folder, "remote_hints", '\13' + kiln::wire::encode(hints));
}

void make_databases(const fs::path& folder) {
  const std::string reads(1, '\0');
  const std::string writes(1, '\4');
  seed(folder, "sound", reads);
  seed(folder, "sound_written", writes);
  seed(folder, "header", reads + patch(16, 1) + patch(40, 2));
  seed(folder, "pages", reads + patch(4096, 1) + patch(3 * 4096 + 5, 0x80) + patch(9 * 4096, 8));
  seed(folder, "pages_written", writes + patch(2 * 4096 + 3, 4) + patch(5 * 4096 + 8, 0x10));
  seed(folder, "cut", std::string(1, '\2') + patch(4096 * 7 + 1, 0).substr(0, 3));
  seed(folder, "cut_written", std::string(1, '\6') + patch(4096 * 3, 0).substr(0, 3));
  seed(folder, "no_database", '\1' + std::string("no database"));
  seed(folder, "header_alone",
       '\1' + std::string("SQLite format 3\0\x10\x00\x01\x01\x00\x40\x20\x20", 24));
}

void make_cubins(const fs::path& folder) {
  const auto compiled = make_program(program, {"none", "some"});
  for (const char* arch : {"sm_75", "sm_90a"}) {
    seed(folder, arch, compile_for(compiled, arch).image);
  }
  seed(folder, "spills", compile_for(make_program(spilling, {"spills"}), "sm_80").image);
  const auto relocatable =
      kiln::Program::make({.name = "relocatable.cu",
                           .source = "extern __device__ int far(int); extern \"C\" __global__ void "
                                     "k(int* x) { *x = far(*x); }",
                           .options = {"-rdc=true"}});
  seed(folder, "relocatable", compile_for(relocatable.value(), "sm_100").image);
  seed(folder, "elf_alone",
       std::string("\x7f"
                   "ELF\x02\x01\x01\x33\x07",
                   9));
}

void make_messages(const fs::path& folder) {
  kiln::CompileJob job;
  job.program = "k.cu";
  job.source = "source";
  job.embedded = {{"a.cuh", "text"}};
  job.include_dirs = {"/include"};
  job.expressions = {"kernel<1>"};
  job.options = {"-O2"};
  job.arch = "sm_80";
  const auto request = kiln::encode_request(job, {"/work", 1, 2});
  const auto outcome = kiln::encode_outcome(kiln::CompileOutcome{
      {.program = "k.cu",
       .arch = "sm_80",
       .kind = "cubin",
       .image = "image",
       .kernels = {{.expression = "kernel<1>", .params = {{0, 8}}}}},
      kiln::Readings{.files = {{"/include/b.h", 0, true, kiln::digest_of("b"), {}, 1, 2},
                               {.path = "/include/c.h", .asked_at = 4}},
                     .embedded = {{"a.cuh", 3}},
                     .working_directory = "/work",
                     .doubt = {}}});
  seed(folder, "request", '\0' + request);
  seed(folder, "outcome", '\1' + outcome);
  seed(folder, "error",
       '\1' +
           kiln::encode_outcome(kiln::fail(kiln::ErrorCode::compile_failed, "message", "log", 6)));
  seed(folder, "setup",
       '\2' + kiln::encode_setup({"/lib/libnvrtc.so.13", kiln::digest_of("nvrtc"), 1 << 30, 7}));
  seed(folder, "stream",
       '\3' + kiln::frame_of(kiln::MessageKind::hello, "build") +
           kiln::frame_of(kiln::MessageKind::job, request));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: kiln_fuzz_corpus FOLDER\n";
    return 2;
  }
  const fs::path folder = argv[1];
  make_frames(folder / "frame");
  make_records(folder / "records", kiln::test::make_sample(1, 100));
  make_databases(folder / "database");
  make_cubins(folder / "cubin");
  make_messages(folder / "messages");
  return 0;
}
