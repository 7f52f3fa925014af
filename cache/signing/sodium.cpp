#include "signing/sodium.h"

#include <dlfcn.h>

#include <array>
#include <initializer_list>
#include <string>

#include "system/no_fork.h"

namespace kiln::storage {
namespace {

// Of 1.0.18, which Debian 12 has, and of 1.0.19 and later. What kiln uses is the same in both.
constexpr std::array sonames{"libsodium.so.26", "libsodium.so.23"};

tl::unexpected<Error> missing(const std::string& why) {
  return fail(
      ErrorCode::invalid_setting,
      "what is signed, or shared with other machines, needs libsodium, which cannot be used: " +
          why + "; install it (Debian: libsodium23), or set no keys");
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): dlsym() gives no other type.
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

Result<Sodium> open() {
  void* library = nullptr;
  for (const char* soname : sonames) {
    if (library == nullptr) library = ::dlopen(soname, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) return missing(std::string("there is no ") + sonames.back());
  Sodium sodium;
  decltype(&::sodium_init) init = nullptr;
  const bool complete = find(library, "sodium_init", init) &&
                        find(library, "crypto_generichash", sodium.generichash) &&
                        find(library, "crypto_sign_ed25519_seed_keypair", sodium.seed_keypair) &&
                        find(library, "crypto_sign_ed25519_detached", sodium.sign) &&
                        find(library, "crypto_sign_ed25519_verify_detached", sodium.verify) &&
                        find(library, "randombytes_buf", sodium.random) &&
                        find(library, "sodium_bin2base64", sodium.to_base64) &&
                        find(library, "sodium_base642bin", sodium.from_base64);
  if (!complete) return missing("it lacks a function");
  // 1 tells that somebody else did it before.
  if (init() < 0) return missing("it does not start");
  return sodium;
}

}  // namespace

const Result<Sodium>& sodium() {
  const system::NoFork no_fork;  // A child would wait for a thread that it does not have.
  // Never destroyed: other threads may check signatures while the process exits.
  static const auto& opened =
      *new const Result<Sodium>(open());  // NOLINT(cppcoreguidelines-owning-memory)
  return opened;
}

}  // namespace kiln::storage
