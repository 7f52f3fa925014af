#pragma once

// kiln/settings.h: what a runtime is set up with, and where each setting came from.
//
//     kiln::RuntimeOptions options{.cache_directory = "/var/cache/engine", .mode = kiln::Mode::cache_only};
//     const kiln::Settings settings = kiln::resolve_settings(options).value();
//     for (const auto& setting : settings.listing)
//       std::printf("%s=%s (%s)\n", setting.variable.c_str(), setting.value.c_str(), setting.origin.c_str());

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/cache_trust.h"
#include "kiln/error.h"
#include "kiln/export.h"
#include "kiln/observer.h"
#include "kiln/signing.h"

namespace KILN_EXPORT kiln {

/// As many workers as the machine has cores for, and memory.
inline constexpr unsigned automatic_workers = 0xffff'ffff;
/// What the machine has, shared by the workers, but at least 4 GiB for each.
inline constexpr std::uint64_t automatic_memory = 0xffff'ffff'ffff'ffff;
/// What becomes of a miss.
enum class Mode {
  jit,         ///< It is compiled.
  warn,        ///< It is compiled, and a warning says what was missed and why.
  cache_only,  ///< It is the error `not_cached`, which says the same; no compiler is mapped.
};

/// "jit", "warn" or "cache-only". Static lifetime.
[[nodiscard]] const char* to_string(Mode mode) noexcept;

/// How a runtime is set up. A field that is set goes before its `KILN_*` variable, which goes before
/// the default. An empty variable counts as not set.
struct RuntimeOptions {
  /// Where the cache lives; absolute. `KILN_CACHE_DIR`, else default_cache_directory().
  std::optional<std::filesystem::path> cache_directory = {};
  /// No cache on disk at all. `KILN_CACHE_DISABLE`.
  std::optional<bool> cache_disabled = {};
  /// Read what is there, write nothing. `KILN_CACHE_READONLY`.
  std::optional<bool> cache_read_only = {};
  /// What the cache may grow to, in bytes; the least recently used entries make room.
  /// `KILN_CACHE_MAX_SIZE` (such as 500M or 5GiB), else 5 GiB.
  std::optional<std::uint64_t> cache_max_bytes = {};
  /// Keep images in the cache as they are: it is read faster, and is some times larger. What is there already stays as
  /// it is. `KILN_CACHE_PLAIN_IMAGES`.
  std::optional<bool> cache_plain_images = {};
  /// Accept a cache and bundles that others may write: what they hold runs on the GPU.
  /// `KILN_CACHE_TRUST_OTHERS`.
  std::optional<bool> cache_trust_others = {};
  /// Accept a cache and bundles that these users own: "root", user ids, separated by commas, or "any". What they hold
  /// runs on the GPU. `KILN_CACHE_TRUST_OWNERS`, else nobody's but the user's own, and root's bundles.
  std::optional<std::string> cache_trust_owners = {};
  /// Share the cache with the members of this group, a name or an id: a directory of mode 2770, files of 0660, whatever the
  /// umask. `KILN_CACHE_GROUP`.
  std::optional<std::string> cache_group = {};
  /// Keys whose signatures count: a list separated by commas, of keys such as "farm-1:BASE64", and absolute paths of
  /// files of keys and of folders of them (TrustedKeys::read()). Where it is set, bundles and other users' caches
  /// serve only what one of these has signed, whoever owns them. `KILN_TRUSTED_KEYS`, else nothing is asked for a
  /// signature.
  std::optional<std::string> trusted_keys = {};
  /// The file of the key that signs what is stored; absolute, its user's alone (SigningKey::read()).
  /// `KILN_SIGNING_KEY`, else none.
  std::optional<std::filesystem::path> signing_key = {};
  /// Whose entries these are, in a cache that several engines share: a name, with a version where each is to have its
  /// own, e.g. "acme 2.1". It is part of the key: what another engine stored, or none, does not serve. `KILN_ENGINE`,
  /// else none.
  std::optional<std::string> engine = {};
  /// Bundles beneath the cache, asked in this order; absolute. `KILN_BUNDLES`, separated by colons.
  std::optional<std::vector<std::filesystem::path>> bundles = {};
  /// Bundles in memory, such as kiln_embed_bundle() links in; asked last. Borrowed: they must outlive
  /// the runtime.
  std::vector<std::span<const std::byte>> embedded_bundles = {};
  /// Stores that machines share, asked in this order for what is not here, before it is compiled; what is compiled is put
  /// there. URLs with spaces between them, as of open_store(); empty for none. `KILN_REMOTE`, else the cache's directory
  /// where that lies on a network's filesystem, and so the cache on each machine; else none.
  std::optional<std::string> remotes = {};
  /// Exactly this kiln-remote, the helper that talks to them, and no other; absolute. `KILN_REMOTE_HELPER`.
  std::optional<std::filesystem::path> remote_helper = {};
  /// How long to wait for another process that compiles the same, before compiling it here as well.
  /// `KILN_COMPILE_PATIENCE`, in seconds, else 60.
  std::optional<std::chrono::milliseconds> compile_patience = {};
  /// What precompiled headers may take of the temporary directory, in bytes; 0 for none. CUB's take 180
  /// MB. They go with the runtime. `KILN_PCH_MAX_SIZE`, else 2 GiB.
  std::optional<std::uint64_t> precompiled_max_bytes = {};
  /// How long programs that begin with the same includes take to compile, together, before these are precompiled; 0: the
  /// second one's are. Where prefetch() knows that more will come, the first one's are. `KILN_PCH_AFTER`, in
  /// milliseconds, else 400.
  std::optional<std::chrono::milliseconds> precompiled_after = {};
  /// Whether workers read precompiled headers into large pages, and keep these, instead of letting NVRTC map
  /// the files: quicker, and no different to NVRTC. `KILN_PCH_LARGE_PAGES`, else they do.
  std::optional<bool> precompiled_large_pages = {};
  /// How many helper processes may compile side by side. Each is started when it is first needed. With 0 this
  /// process compiles, one program at a time; so it does where no kiln-worker is found.
  /// `KILN_COMPILE_WORKERS` (a number or "auto"), else automatic_workers.
  std::optional<unsigned> compile_workers = {};
  /// How long one compile may take before it is given up with timed_out. `KILN_COMPILE_TIMEOUT`, in
  /// seconds, else 600.
  std::optional<std::chrono::milliseconds> compile_timeout = {};
  /// How many compiles may wait for their turn after Runtime::compile_async(); one more is answered
  /// with queue_full. `KILN_COMPILE_QUEUE`, else 65,536.
  std::optional<std::size_t> compile_queue = {};
  /// How much address space a worker may have, in bytes. A compile that needs more fails with worker_failed.
  /// `KILN_COMPILE_MEMORY` (2G, or "auto"), else automatic_memory: a compile that runs out of its share is
  /// then tried once more with all that the machine has.
  std::optional<std::uint64_t> compile_memory = {};
  /// Exactly this kiln-worker, and no other; absolute. `KILN_WORKER`.
  std::optional<std::filesystem::path> worker = {};
  /// What becomes of a miss, until Runtime::set_mode() says otherwise. `KILN_MODE` (jit, warn,
  /// cache-only), else jit.
  std::optional<Mode> mode = {};
  /// Exactly this libnvrtc, and no other; absolute. `KILN_NVRTC`.
  std::optional<std::filesystem::path> nvrtc = {};
  /// Exactly this libnvJitLink, and no other; absolute. `KILN_NVJITLINK`.
  std::optional<std::filesystem::path> nvjitlink = {};
  /// Exactly this libnvfatbin, and no other; absolute. `KILN_NVFATBIN`.
  std::optional<std::filesystem::path> nvfatbin = {};
  /// Exactly this nvdisasm, and no other; absolute. cuobjdump is then looked for beside it. `KILN_NVDISASM`.
  std::optional<std::filesystem::path> nvdisasm = {};
  /// Exactly this libcuda, and no other; absolute. `KILN_CUDA_DRIVER`.
  std::optional<std::filesystem::path> cuda_driver = {};
  /// Which compilers' entries serve beside those of this machine's own, which always go first: `own` (none;
  /// where there is no compiler, those of any), `same-major`, `any`, or the text of one, e.g. "NVRTC 12.8".
  /// An image that the driver is too old for is never loaded. `KILN_TOOLCHAINS`, else own.
  std::optional<std::string> toolchains = {};
  /// Whether a stored PTX image may be loaded where no cubin is stored that the device runs, before one is
  /// compiled; the driver then compiles it, on each start. `KILN_ALLOW_PTX`, else not.
  std::optional<bool> allow_ptx = {};
  /// Of each program that has a variant of this name, that variant is compiled, whatever the target;
  /// "default" means none of them. Program::with_variant() goes before it. `KILN_VARIANT`, else the target
  /// decides.
  std::optional<std::string> variant = {};
  /// A file to which kiln adds, as a manifest, each program and target that is asked for; absolute, ending in
  /// .json. `KILN_RECORD`.
  std::optional<std::filesystem::path> record = {};
  /// A folder in which kiln lays out the sources of what it compiles, as lay_out_sources() does; absolute. What is served
  /// writes nothing there. `KILN_SOURCES_DIR`.
  std::optional<std::filesystem::path> sources_directory = {};
  /// Whether to compare what a ProgramSpec::source_word stands for with what it stood for when the image was made,
  /// which makes the source on each first look-up; a difference is invalid_argument. For tests of an engine.
  /// `KILN_CHECK_SOURCES`.
  std::optional<bool> check_sources = {};
  /// What is logged. `KILN_LOG` (off, warn, info, debug), else warn.
  std::optional<LogLevel> log_level = {};
  /// Where it is logged; standard error when empty.
  LogCallback log = {};
  Observer observer = {};
  /// Whether to read config_files() for what neither these options nor the environment say. A library reads no files of
  /// its own accord; the command line does.
  bool reads_config = false;
  /// For tools, whose processes are short: one that only hits writes down its hits too, as
  /// CacheOptions::tells_hits says. An engine leaves it off, and its hits write nothing.
  bool tells_hits = false;
};

/// One setting as a person asks for it.
struct Setting {
  std::string variable;  ///< E.g. "KILN_CACHE_DIR".
  std::string value;     ///< Empty where there is none.
  std::string origin;    ///< "option", "environment", a file's path, or "default".
};

/// A variable of the environment, or a name in a file, that begins with "KILN_" and is none of kiln's.
struct UnknownVariable {
  std::string variable;
  std::string
      meant;  ///< The setting that it is a slip or two away from; empty where there is none.
  std::string file = {};  ///< Where it stands; empty for the environment.
};

/// All settings, decided.
struct Settings {
  /// Empty when the default could not be determined; `cache_fault` then says why.
  std::filesystem::path cache_directory;
  std::string cache_fault;
  bool cache_disabled = false;
  bool cache_read_only = false;
  std::uint64_t cache_max_bytes = 0;
  bool cache_plain_images = false;
  CacheTrust cache_trust;
  TrustedKeys trusted_keys;
  SigningKey signing_key;
  bool tells_hits = false;
  std::string engine;  ///< Empty where none is named.
  std::vector<std::filesystem::path> bundles;
  std::vector<std::span<const std::byte>> embedded_bundles;
  std::string remotes;  ///< They may hold passwords. Empty where there are none.
  std::optional<std::filesystem::path> remote_helper;
  std::chrono::milliseconds compile_patience{};
  std::uint64_t precompiled_max_bytes = 0;
  std::chrono::milliseconds precompiled_after{};
  bool precompiled_large_pages = true;
  std::chrono::milliseconds compile_timeout{};
  std::size_t compile_queue = 0;
  unsigned compile_workers = automatic_workers;
  std::uint64_t compile_memory = automatic_memory;
  std::optional<std::filesystem::path> worker;
  Mode mode = Mode::jit;
  std::optional<std::filesystem::path> nvrtc;
  std::optional<std::filesystem::path> nvjitlink;
  std::optional<std::filesystem::path> nvfatbin;
  std::optional<std::filesystem::path> nvdisasm;
  std::optional<std::filesystem::path> cuda_driver;
  std::string toolchains = "own";
  bool allow_ptx = false;
  std::string variant;  ///< Empty where targets decide.
  std::optional<std::filesystem::path> record;
  std::optional<std::filesystem::path> sources_directory;
  bool check_sources = false;
  LogLevel log_level = LogLevel::warn;
  std::vector<Setting> listing;  ///< Each of the above with where it came from.
  /// Of those that name what they were meant to be, the first runtime of a process warns.
  std::vector<UnknownVariable> unknown;
  /// The files of settings that the user may not read, each a sentence that says so and what to do. The first runtime of a
  /// process warns of them too.
  std::vector<std::string> unread_files;
};

/// Where settings may stand for all programs that read them, what goes first first: `$XDG_CONFIG_HOME/kiln/config` (else
/// `~/.config/kiln/config`) and `/etc/kiln/config`. Lines as `KILN_MODE=warn`; '#' begins a remark. Such a file must belong
/// to the user or to root, be writable by nobody else and be no link; one that the user may not read is left out. None in a
/// program that runs with other rights than those of whoever started it.
[[nodiscard]] std::vector<std::filesystem::path> config_files();

/// Decides the settings from options, the environment and, where the options say so, config_files(). Reads the keys that
/// these name, and looks at the filesystem of the cache's directory; nothing else on the disk. Errors: invalid_setting, naming the variable, field or file, its value and what it may be.
[[nodiscard]] Result<Settings> resolve_settings(const RuntimeOptions& options);

}  // namespace kiln
