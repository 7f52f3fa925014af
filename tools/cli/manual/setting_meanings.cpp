#include "manual/setting_meanings.h"

namespace kiln::cli {

namespace {

constexpr SettingMeaning meanings[] = {
    {"KILN_CACHE_DIR", "the cache's directory, absolute",
     "$XDG_CACHE_HOME/kiln, else ~/.cache/kiln"},
    {"KILN_CACHE_DISABLE",
     "no cache on disk for what compiles; what looks after one, such as kiln ls and kiln gc, works "
     "on it all the same",
     "0"},
    {"KILN_CACHE_READONLY", "read what is there, write nothing", "0"},
    {"KILN_CACHE_MAX_SIZE", "what the cache may grow to: 500M, 5GiB", "5 GiB"},
    {"KILN_CACHE_PLAIN_IMAGES", "keep images as they are: a larger cache that is read faster", "0"},
    {"KILN_CACHE_TRUST_OTHERS", "accept a cache and bundles that others may write", "0"},
    {"KILN_CACHE_TRUST_OWNERS",
     "accept a cache and bundles that these users own: root, user ids separated by commas, or any",
     ""},
    {"KILN_CACHE_GROUP",
     "share the cache with the members of this group, a name or an id: its directory has mode "
     "2770, "
     "its files 0660",
     ""},
    {"KILN_TRUSTED_KEYS",
     "whose signatures count: keys such as farm-1:BASE64, absolute paths of files and folders of "
     "keys, separated by commas; nothing unsigned of others serves",
     ""},
    {"KILN_SIGNING_KEY", "the file of the key that signs what is stored, absolute", ""},
    {"KILN_ENGINE",
     "whose entries these are in a cache that several engines share, such as acme 2.1; no other "
     "engine's serve",
     ""},
    {"KILN_BUNDLES", "bundles beneath the cache, absolute, separated by colons", ""},
    {"KILN_COMPILE_PATIENCE", "seconds to wait for a process that compiles the same", "60"},
    {"KILN_PCH_MAX_SIZE", "room for precompiled headers in the temporary directory; 0 for none",
     "2 GiB"},
    {"KILN_PCH_AFTER",
     "milliseconds that programs with the same includes take to compile, together, before these "
     "are precompiled",
     "400"},
    {"KILN_PCH_LARGE_PAGES",
     "workers read precompiled headers into large pages that stay, in the place of NVRTC's own "
     "mapping",
     "1"},
    {"KILN_COMPILE_TIMEOUT", "seconds that one compile may take", "600"},
    {"KILN_COMPILE_QUEUE", "how many compiles may wait after compile_async", "65536"},
    {"KILN_COMPILE_WORKERS",
     "processes that compile side by side: a number, auto for as many as are needed up to the "
     "cores, or 0 for this process",
     "auto"},
    {"KILN_COMPILE_MEMORY",
     "address space of a worker: 2G, or auto for its share of the machine's memory, 4 GiB at least",
     "auto"},
    {"KILN_REMOTE",
     "stores that machines share, asked before a compile: file:///folder, redis://host, "
     "http(s)://host/path/, s3://bucket/prefix, separated by spaces",
     "none, or the cache's directory on a network's filesystem"},
    {"KILN_REMOTE_HELPER", "exactly this kiln-remote, no other", "beside the library"},
    {"KILN_WORKER", "exactly this kiln-worker, no other", "beside the library"},
    {"KILN_MODE",
     "what becomes of a miss: jit compiles it, warn says so too, cache-only makes it an error; "
     "kiln prewarm and kiln trace, which are there to compile, do",
     "jit"},
    {"KILN_NVRTC", "exactly this libnvrtc, no other", "searched for"},
    {"KILN_NVJITLINK", "exactly this libnvJitLink, no other", "beside NVRTC, then searched for"},
    {"KILN_NVFATBIN", "exactly this libnvfatbin, no other", "beside NVRTC, then searched for"},
    {"KILN_NVDISASM", "exactly this nvdisasm, no other, and the cuobjdump beside it",
     "beside NVRTC, then searched for"},
    {"KILN_CUDA_DRIVER", "exactly this libcuda, no other", "searched for"},
    {"KILN_TOOLCHAINS",
     "whose entries serve beside those of this machine's compiler: own for none (without a "
     "compiler: anybody's), same-major, any, or one such as NVRTC 12.8",
     "own"},
    {"KILN_ALLOW_PTX",
     "a stored PTX image may be loaded where no cubin is stored that the device runs", "0"},
    {"KILN_VARIANT", "this variant of each program that has one of the name; default for none",
     "the target decides"},
    {"KILN_RECORD", "write down there, in a .json, what is asked for, for kiln prewarm", ""},
    {"KILN_SOURCES_DIR",
     "lay out there the sources of what is compiled, for debuggers and profilers", ""},
    {"KILN_CHECK_SOURCES",
     "compare what a program's source_word stands for with what it stood for when its image was "
     "made",
     "0"},
    {"KILN_LOG", "off, warn, info or debug", "warn"},
};

}  // namespace

std::span<const SettingMeaning> setting_meanings() noexcept { return meanings; }

}  // namespace kiln::cli
