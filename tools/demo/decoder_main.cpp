// A tiny language model on the CPU, and, where there is a GPU, the same on kernels that kiln serves,
// compared logit by logit.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "decoder.h"
#include "decoder_manifest.h"
#include "decoder_text.h"
#include "generation.h"
#include "gpu.h"
#include "gpu_operations.h"
#include "kiln/cache.h"
#include "kiln/kiln.h"

namespace {

namespace fs = std::filesystem;
namespace shape = demo::shape;

constexpr int exit_usage = 2;

enum class Device { any, cpu, gpu };

struct Words {
  demo::Question question;
  Device device = Device::any;
  std::optional<fs::path> cache;
  std::vector<fs::path> bundles;
  bool cache_only = false;
  std::optional<fs::path> manifest;
};

/// What the grammar cannot tell.
void require_sensible(const Words& words) {
  for (const int token : words.question.prompt) {
    if (token >= 0 && token < shape::vocabulary) continue;
    throw std::invalid_argument(
        fmt::format("--prompt: token {} is not in the vocabulary: give ids from 0 to {}", token,
                    shape::vocabulary - 1));
  }
  const std::size_t positions = words.question.prompt.size() + words.question.tokens;
  if (positions > shape::max_positions) {
    throw std::invalid_argument(fmt::format(
        "a prompt of {} tokens and {} more are {}, and the decoder has {} positions: give a "
        "shorter --prompt or fewer --tokens",
        words.question.prompt.size(), words.question.tokens, positions, shape::max_positions));
  }
}

/// A runtime goes on without a bundle that it cannot use; one that was named here is to be used.
std::vector<fs::path> usable_bundles(const Words& words) {
  std::vector<fs::path> bundles;
  for (const fs::path& given : words.bundles) {
    bundles.push_back(fs::absolute(given));
    if (const auto bundle = kiln::Cache::open_bundle(bundles.back()); !bundle) {
      throw std::invalid_argument(fmt::format("--bundle: {}", bundle.error().message));
    }
  }
  return bundles;
}

kiln::Runtime open_runtime(const Words& words) {
  kiln::RuntimeOptions options;
  if (words.cache) options.cache_directory = fs::absolute(*words.cache);
  if (!words.bundles.empty()) options.bundles = usable_bundles(words);
  if (words.cache_only) options.mode = kiln::Mode::cache_only;
  return kiln::Runtime::open(std::move(options)).value();
}

void print_reference(const Words& words, const demo::Generation& reference) {
  const auto& logits = reference.steps.back().logits;
  fmt::print("decoder: {} layers, hidden {}, {} heads, vocabulary {}; weights of seed {}\n",
             shape::layers, shape::hidden, shape::query_heads, shape::vocabulary,
             words.question.seed);
  fmt::print("prompt:  {}\ntokens:  {}\ntext:    {}\n", fmt::join(words.question.prompt, " "),
             fmt::join(reference.tokens, " "), demo::text_of(reference.tokens));
  fmt::print("logits:  {:.4f} ... (the first of the last step)\nchecksum {}\n",
             fmt::join(logits.begin(), logits.begin() + 4, " "), demo::checksum(reference));
}

/// True if the GPU's numbers are those of the reference.
bool check_on_gpu(const demo::Generation& reference, const demo::DecoderWeights& weights,
                  kiln::Runtime& runtime) {
  const kiln::Availability driver = runtime.driver();
  demo::GpuOperations operations(runtime, demo::Gpu::open(driver.path));
  const kiln::RuntimeCounters counters = runtime.counters();
  fmt::print("on {}:\nprograms {} compiled, {} from the cache, {} from bundles{}\n",
             driver.description, counters.compiles, counters.local_hits, counters.bundle_hits,
             counters.remote_hits == 0
                 ? ""
                 : fmt::format(", {} from shared stores", counters.remote_hits));
  demo::Decoder decoder(operations, weights);
  const auto found = demo::follow(decoder, reference);
  const auto comparison = demo::compare(found, reference);
  fmt::print(
      "{}: largest error of a logit {:.2e} of the largest, tolerance {:.2e}; other tokens {}, "
      "wrong ones {}\n",
      comparison.right() ? "right" : "WRONG", comparison.error, comparison.tolerance,
      comparison.other_tokens, comparison.wrong_tokens);
  return comparison.right();
}

bool run(const Words& words) {
  if (words.manifest) {
    demo::write_decoder_manifest(*words.manifest);
    return true;
  }
  require_sensible(words);
  kiln::Runtime runtime = open_runtime(words);
  const auto weights = demo::make_weights(words.question.seed);
  const auto reference = demo::generate_on_cpu(words.question, weights);
  print_reference(words, reference);
  if (words.device == Device::cpu) return true;
  const kiln::Availability driver = runtime.driver();
  if (driver.available) return check_on_gpu(reference, weights, runtime);
  fmt::print("not run on a GPU: {}\n", driver.reason.substr(0, driver.reason.find('\n')));
  return words.device != Device::gpu;
}

void add_options(CLI::App& app, Words& words) {
  const std::map<std::string, Device> devices{
      {"auto", Device::any}, {"cpu", Device::cpu}, {"gpu", Device::gpu}};
  app.add_option("--seed", words.question.seed, "What the weights are made of")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--prompt", words.question.prompt, "Token ids, separated by commas")
      ->delimiter(',');
  app.add_option("--tokens", words.question.tokens, "How many tokens to make")
      ->check(CLI::Range(1, shape::max_positions));
  app.add_option("--device", words.device, "auto, cpu or gpu; auto is content without a GPU")
      ->transform(CLI::Transformer(devices));
  app.add_option("--cache", words.cache, "Folder of the cache; kiln's own when not given");
  app.add_option("--bundle", words.bundles, "Bundles beneath the cache");
  app.add_flag("--cache-only", words.cache_only,
               "Compile nothing: a kernel that is not there is an error");
  app.add_option("--manifest", words.manifest,
                 "Only write the kernels down there, for kiln prewarm; nothing is run");
}

}  // namespace

int main(int argc, char** argv) try {
  Words words;
  CLI::App app{"Runs a tiny decoder on the CPU, and on kernels from kiln where there is a GPU."};
  add_options(app, words);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? EXIT_SUCCESS : exit_usage;
  }
  return run(words) ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::invalid_argument& failure) {
  std::fprintf(stderr, "kiln-decoder: %s\n", failure.what());
  return exit_usage;
} catch (const tl::bad_expected_access<kiln::Error>& failure) {
  std::fprintf(stderr, "kiln-decoder: %s\n%s", failure.error().message.c_str(),
               failure.error().log.c_str());
  return EXIT_FAILURE;
} catch (const std::exception& failure) {
  std::fprintf(stderr, "kiln-decoder: %s\n", failure.what());
  return EXIT_FAILURE;
}
