#pragma once

// kiln/c_api.h: kiln for other languages, as C functions over opaque handles; valid C99 and C++. Long, since what binds
// it reads one header.
//
//     kiln_runtime* runtime = NULL;
//     kiln_error* error = kiln_runtime_open(NULL, &runtime);
//     if (error) fputs(kiln_error_message(error), stderr);
//     kiln_error_free(error);
//     kiln_runtime_close(runtime);
//
// kiln_program_make() gives a program; kiln_runtime_compile() an artifact, without a GPU; kiln_runtime_kernel() a kernel, which
// kiln_kernel_launch() launches. What holds for all of it:
//
// - Errors. A function that can fail returns a kiln_error, or NULL where it succeeded. The error belongs to
//   the caller, who ends it with kiln_error_free(). On failure what out-parameters point to is unchanged.
//   No C++ exception leaves a function.
// - Ownership. A handle that a function gives through an out-parameter belongs to the caller, who ends it
//   with its own `_free` or `_close` function. Given NULL, these do nothing. Handles may be ended in any
//   order: each keeps alive what it needs. kiln copies what a caller gives, unless a comment says otherwise.
// - Text is bytes up to a zero, UTF-8 where it matters. Text and bytes that a function gives belong to the
//   handle that the function was given, and are valid as long as that is. Where there is no text, a function
//   gives an empty one, not NULL.
// - Threads. Every function may be called from any thread, and with the same handle from several threads at
//   once. Only the function that ends a handle must be the last to be given it. In a child
//   that was forked after it was opened a runtime begins anew: kiln/runtime.h.
// - Structures with a `size` begin with it, and the caller sets it to sizeof. A field that is 0 or NULL is
//   not set. Such structures grow at their end. An older library refuses a structure in which a field is set
//   that it does not know. Structures without a `size`, of which there are arrays, never change.
// - Numbers of enumerations never change, and are given as int32_t. Yes and no are 1 and 0.
//
// A program that was built with this header runs with every later library in which KILN_API_VERSION is the
// same or higher.

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/// Raised when something is added. Nothing is taken away, and nothing changes its meaning.
#define KILN_API_VERSION 6

/// KILN_API_VERSION of the library, which may be another one than the header's.
uint32_t kiln_api_version(void);

// Errors

/// An error: what kind, and a message that is fit for a person. Immutable.
typedef struct kiln_error kiln_error;

/// What kind of thing went wrong; the message says which one and what to do.
typedef int32_t kiln_code;
enum {
  KILN_OK = 0,
  KILN_ERROR_INVALID_ARGUMENT = 1,    ///< A value given by the caller makes no sense.
  KILN_ERROR_INVALID_SETTING = 2,     ///< A `KILN_*` variable or an option makes no sense.
  KILN_ERROR_INVALID_OPTION = 3,      ///< A compiler option that kiln owns, or that is refused.
  KILN_ERROR_UNKNOWN_ARCH = 4,        ///< An architecture that is not one, or not known.
  KILN_ERROR_UNKNOWN_KERNEL = 5,      ///< A name expression that is not listed or not defined.
  KILN_ERROR_HEADER_NOT_FOUND = 6,    ///< An `#include` that nothing resolves.
  KILN_ERROR_COMPILE_FAILED = 7,      ///< The compiler refused the source; see the log.
  KILN_ERROR_LINK_FAILED = 8,         ///< The linker refused its inputs; see the log.
  KILN_ERROR_NOT_CACHED = 9,          ///< Nothing stored serves, and compiling is forbidden.
  KILN_ERROR_CANCELLED = 10,          ///< Whoever asked wants it no more.
  KILN_ERROR_QUEUE_FULL = 11,         ///< The queue of compiles holds no more.
  KILN_ERROR_TIMED_OUT = 12,          ///< A compile that took longer than it may.
  KILN_ERROR_WORKER_FAILED = 13,      ///< A worker process crashed, or ran out of memory, again.
  KILN_ERROR_COMPILER_MISSING = 14,   ///< No usable NVRTC on this machine.
  KILN_ERROR_DRIVER_MISSING = 15,     ///< No usable CUDA driver or device on this machine.
  KILN_ERROR_DRIVER_FAILED = 16,      ///< The driver answered with an error.
  KILN_ERROR_CAPTURING = 17,          ///< A driver before CUDA 12.3 is to load amid a capture.
  KILN_ERROR_ARGUMENT_MISMATCH = 18,  ///< Launch arguments that the kernel does not take.
  KILN_ERROR_CACHE_UNUSABLE = 19,     ///< A cache directory or file that cannot be used.
  KILN_ERROR_TOO_LARGE = 20,          ///< An entry that the cache has no room for.
  KILN_ERROR_NOT_FOUND = 21,          ///< A name or key that there is not.
  KILN_ERROR_AMBIGUOUS = 22,          ///< A key prefix that names more than one entry.
  KILN_ERROR_IO_FAILED = 23,          ///< A file that could not be read or written.
  KILN_ERROR_OUT_OF_MEMORY = 100,     ///< This process has no memory left.
  KILN_ERROR_INTERNAL = 101           ///< A fault of kiln's own.
};

/// KILN_OK for NULL.
kiln_code kiln_error_code(const kiln_error* error);
/// The code in words, e.g. "compile_failed"; "ok" for NULL. Static lifetime.
const char* kiln_error_code_name(const kiln_error* error);
/// Names the thing and the remedy; empty for NULL.
const char* kiln_error_message(const kiln_error* error);
/// The compiler's or linker's output, whole; empty where there is none, and for NULL.
const char* kiln_error_log(const kiln_error* error);
/// The nvrtcResult, CUresult or SQLite's code; 0 where there is none, and for NULL.
int32_t kiln_error_vendor_code(const kiln_error* error);
void kiln_error_free(kiln_error* error);

// Values

/// Some bytes. Borrowed or owned as each use says.
typedef struct kiln_bytes {
  const void* data;
  size_t size;
} kiln_bytes;

/// What a compile gives.
typedef int32_t kiln_image_kind;
enum {
  KILN_IMAGE_CUBIN = 0,    ///< Machine code for one architecture.
  KILN_IMAGE_PTX = 1,      ///< Text for an architecture and later ones, which the driver compiles.
  KILN_IMAGE_LTOIR = 2,    ///< NVVM bitcode for a later link.
  KILN_IMAGE_OPTIXIR = 3,  ///< Input of OptiX.
  KILN_IMAGE_FATBIN = 4    ///< Images for several architectures in one.
};

/// Who served an artifact.
typedef int32_t kiln_origin;
enum {
  KILN_ORIGIN_COMPILED = 0,  ///< Nobody: it was compiled.
  KILN_ORIGIN_MEMORY = 1,    ///< This process had it already.
  KILN_ORIGIN_LOCAL = 2,     ///< The cache on disk.
  KILN_ORIGIN_BUNDLE = 3,
  KILN_ORIGIN_REMOTE = 4  ///< A store that machines share. Since version 5.
};

/// What becomes of a miss.
typedef int32_t kiln_mode;
enum {
  KILN_MODE_UNSET = 0,
  KILN_MODE_JIT = 1,        ///< It is compiled.
  KILN_MODE_WARN = 2,       ///< It is compiled, and a warning says what was missed and why.
  KILN_MODE_CACHE_ONLY = 3  ///< It is the error KILN_ERROR_NOT_CACHED.
};

typedef int32_t kiln_log_level;
enum {
  KILN_LOG_UNSET = 0,
  KILN_LOG_OFF = 1,
  KILN_LOG_WARN = 2,
  KILN_LOG_INFO = 3,
  KILN_LOG_DEBUG = 4
};

/// Yes, no, or left to the environment.
typedef int32_t kiln_switch;
enum { KILN_SWITCH_UNSET = 0, KILN_SWITCH_ON = 1, KILN_SWITCH_OFF = 2 };

// Programs

/// A header that the host program holds in memory instead of reading it from disk.
typedef struct kiln_header {
  const char* name;  ///< As it is included, e.g. "engine/vec.cuh".
  const char* text;
} kiln_header;

/// Embedded headers, for as many programs as one likes. Immutable.
typedef struct kiln_header_set kiln_header_set;

/// Copies these headers. Of two of one name the first counts. Errors: invalid_argument.
kiln_error* kiln_header_set_make(const kiln_header* headers, size_t count, kiln_header_set** set);
void kiln_header_set_free(kiln_header_set* set);

/// kiln's own device headers: what a kernel may `#include <kiln/…>`. Static lifetime, not to be freed.
const kiln_header_set* kiln_device_headers(void);

/// Headers of the C++ standard library that NVRTC does not bring, such as `<cstdint>` and `<type_traits>`,
/// for kernels that include them. Static lifetime, not to be freed.
const kiln_header_set* kiln_standard_headers(void);

/// One of a program's name expressions, and a variant's own that is compiled instead.
typedef struct kiln_replaced_kernel {
  const char* expression;
  const char* replacement;
} kiln_replaced_kernel;

/// An alternative of a program for some architectures. What is not set is the program's own.
typedef struct kiln_variant_spec {
  size_t size;
  const char* name;  ///< E.g. "hopper"; not "default", which is the program without its variants.
  /// Which targets it is for: "sm_90a" means that target alone, "sm_100f" the `a` and `f` targets of that
  /// family, "sm_80" that target and all later ones. The most specific one wins, in that order, and then the
  /// highest.
  const char* since;
  const char* file;  ///< The name of its source, instead of the program's.
  const char* source;
  const char* const* options;  ///< Instead of the program's, all of them.
  size_t option_count;
  const kiln_replaced_kernel* kernels;
  size_t kernel_count;
} kiln_variant_spec;

/// What a program is made from. All of it is copied.
typedef struct kiln_program_spec {
  size_t size;
  const char* name;    ///< For messages and `__FILE__`, e.g. "rms_norm.cu"; relative, no "..".
  const char* source;  ///< CUDA C++.
  int32_t no_toolkit_headers;             ///< 1: the CUDA toolkit's headers are not searched.
  const kiln_header_set* const* headers;  ///< Searched before any directory, in this order.
  size_t header_count;
  const char* const* include_dirs;  ///< What `-I` would name, in order.
  size_t include_dir_count;
  const char* const* kernels;  ///< Name expressions, e.g. "rms_norm<__half, 4096>".
  size_t kernel_count;
  const char* const* options;  ///< For the compiler, e.g. "--std=c++20".
  size_t option_count;
  const kiln_variant_spec* const*
      variants;  ///< Alternatives; the target decides which one is compiled.
  size_t variant_count;
} kiln_program_spec;

/// Source text and all that is compiled with it, validated once. Immutable.
typedef struct kiln_program kiln_program;

/// Errors: invalid_argument; invalid_option for one that kiln owns, naming the field to use.
kiln_error* kiln_program_make(const kiln_program_spec* spec, kiln_program** program);
/// The same program with this variant for every target; "default" is the one without its variants. Errors:
/// invalid_argument, listing the names there are.
kiln_error* kiln_program_with_variant(const kiln_program* program, const char* name,
                                      kiln_program** chosen);
void kiln_program_free(kiln_program* program);

// The runtime

/// Takes what kiln logs, one line at a time, without a line end. kiln calls it from any thread, also from
/// several at once. `text` is valid during the call. It must not call back into the runtime that called it,
/// nor end it, nor throw. `user` must outlive the runtime.
typedef void (*kiln_log_callback)(void* user, kiln_log_level level, const char* text);

typedef int32_t kiln_event_kind;
enum {
  KILN_EVENT_HIT = 0,   ///< Served without compiling; `origin` says by whom.
  KILN_EVENT_MISS = 1,  ///< `detail` says why.
  KILN_EVENT_COMPILE_BEGIN = 2,
  KILN_EVENT_COMPILE_END = 3,    ///< `detail` is empty on success, else the error's first line.
  KILN_EVENT_STORE = 4,          ///< Written to the local cache.
  KILN_EVENT_NOT_STORED = 5,     ///< Compiled and served, but not kept; `detail` says why.
  KILN_EVENT_LOAD = 6,           ///< An image was given to the driver.
  KILN_EVENT_LAUNCH_FAILED = 7,  ///< `detail` is the error's message.
  KILN_EVENT_REMOTE_STORE =
      8,  ///< Is to be put into the stores that machines share. Since version 5.
  KILN_EVENT_LEASE_WAIT =
      9  ///< Another machine compiles the same, and is waited for. Since version 5.
};

/// One thing that kiln did. Valid during the call, with all that it points to.
typedef struct kiln_event {
  size_t size;  ///< Set by kiln.
  kiln_event_kind kind;
  kiln_origin origin;
  const char* program;  ///< Its name.
  const char* arch;
  const char* key;      ///< Empty where it is not known yet.
  double milliseconds;  ///< How long it took; 0 for a beginning.
  const char* detail;
} kiln_event;

/// Takes each event. The same rules as for kiln_log_callback.
typedef void (*kiln_observer)(void* user, const kiln_event* event);

/// Instead of a number of workers.
enum {
  KILN_WORKERS_NONE = -1,      ///< Compiles run in this process, one at a time.
  KILN_WORKERS_AUTOMATIC = -2  ///< As many as the machine has cores for, and memory.
};

/// How a runtime is set up. A field that is set goes before its `KILN_*` variable, which goes before the
/// default. Paths are absolute.
typedef struct kiln_runtime_options {
  size_t size;
  const char* cache_directory;     ///< `KILN_CACHE_DIR`.
  kiln_switch cache_disabled;      ///< No cache on disk. `KILN_CACHE_DISABLE`.
  kiln_switch cache_read_only;     ///< Read what is there, write nothing. `KILN_CACHE_READONLY`.
  kiln_switch cache_trust_others;  ///< Accept what others may write. `KILN_CACHE_TRUST_OTHERS`.
  kiln_switch allow_ptx;     ///< Stored PTX may be loaded for want of a cubin. `KILN_ALLOW_PTX`.
  uint64_t cache_max_bytes;  ///< What the cache may grow to. `KILN_CACHE_MAX_SIZE`.
  /// Bundles beneath the cache, in this order. Where it is set and the count is 0, there are none.
  /// `KILN_BUNDLES`.
  const char* const* bundles;
  size_t bundle_count;
  /// Bundles in memory, asked last. Borrowed: the bytes must outlive the runtime.
  const kiln_bytes* embedded_bundles;
  size_t embedded_bundle_count;
  kiln_mode mode;           ///< `KILN_MODE`.
  int32_t compile_workers;  ///< A number of processes, or KILN_WORKERS_…. `KILN_COMPILE_WORKERS`.
  uint64_t compile_timeout;  ///< Of one compile, in milliseconds. `KILN_COMPILE_TIMEOUT`.
  /// How long to wait for a process that compiles the same, in milliseconds. `KILN_COMPILE_PATIENCE`.
  uint64_t compile_patience;
  const char* nvrtc;               ///< Exactly this libnvrtc, and no other. `KILN_NVRTC`.
  const char* nvjitlink;           ///< Exactly this libnvJitLink, and no other. `KILN_NVJITLINK`.
  const char* nvfatbin;            ///< Exactly this libnvfatbin, and no other. `KILN_NVFATBIN`.
  const char* cuda_driver;         ///< Exactly this libcuda, and no other. `KILN_CUDA_DRIVER`.
  const char* worker;              ///< Exactly this kiln-worker, and no other. `KILN_WORKER`.
  const char* variant;             ///< Of each program that has one of this name. `KILN_VARIANT`.
  const char* record;              ///< Where to write down what is asked for. `KILN_RECORD`.
  kiln_log_level log_level;        ///< `KILN_LOG`.
  kiln_log_callback log;           ///< Where it is logged; standard error where not set.
  void* log_user;                  ///< Handed to `log`.
  kiln_observer observer;          ///< Sees each event.
  void* observer_user;             ///< Handed to `observer`.
  const char* cache_trust_owners;  ///< "root", user ids, "any". `KILN_CACHE_TRUST_OWNERS`.
  const char* cache_group;    ///< A name or an id: the cache is its members'. `KILN_CACHE_GROUP`.
  const char* engine;         ///< Whose entries these are, and no other's serve. `KILN_ENGINE`.
  const char* trusted_keys;   ///< A list of keys whose signatures count. `KILN_TRUSTED_KEYS`.
  const char* signing_key;    ///< The file of the key that signs. `KILN_SIGNING_KEY`.
  const char* remotes;        ///< URLs of stores that machines share. `KILN_REMOTE`.
  const char* remote_helper;  ///< Exactly this kiln-remote, and no other. `KILN_REMOTE_HELPER`.
} kiln_runtime_options;

/// The pipeline: asks the cache, compiles on a miss, stores, loads. The runtime ends when its handle is
/// closed and the last kernel and module that it gave is freed. It then unloads its images, cancels compiles
/// that are not done, and waits a short time for its threads.
typedef struct kiln_runtime kiln_runtime;

/// Needs no GPU, no driver and no NVRTC: each is looked for when first needed. `options` may be NULL.
/// Errors: invalid_setting, naming the variable or field; invalid_argument.
kiln_error* kiln_runtime_open(const kiln_runtime_options* options, kiln_runtime** runtime);
void kiln_runtime_close(kiln_runtime* runtime);

/// What becomes of a miss from now on. Errors: invalid_argument.
kiln_error* kiln_runtime_set_mode(kiln_runtime* runtime, kiln_mode mode);

/// Why the cache on disk cannot be used, as the error cache_unusable; NULL where it is well or disabled.
kiln_error* kiln_runtime_check_cache(const kiln_runtime* runtime);

/// What a runtime did since it was opened.
typedef struct kiln_counters {
  size_t size;
  uint64_t memory_hits;
  uint64_t local_hits;
  uint64_t bundle_hits;
  uint64_t misses;
  uint64_t compiles;
  uint64_t precompiled;  ///< Compiles whose first headers were precompiled.
  uint64_t combines;     ///< Links and fatbins that were made here.
  uint64_t waits;        ///< For another process that was compiling the same.
  uint64_t stores;
  uint64_t refusals;      ///< Stored images that the driver refused and kiln dropped.
  uint64_t cache_errors;  ///< Faults of the cache that no call failed for.
  uint64_t loads;
  uint64_t remote_hits;
  uint64_t lease_waits;  ///< For another machine that was compiling the same.
} kiln_counters;

/// Errors: invalid_argument.
kiln_error* kiln_runtime_get_counters(const kiln_runtime* runtime, kiln_counters* counters);

/// The stores that a runtime shares with other machines, as they were at one moment. Immutable.
typedef struct kiln_remotes kiln_remotes;

/// One of them. All that is counted, this machine's helper counted since it was started.
typedef struct kiln_remote_info {
  size_t size;
  const char* url;           ///< Without user and password.
  const char* fault;         ///< Why it cannot be asked, and then nothing follows; else empty.
  const char* last_failure;  ///< Of its server.
  int32_t read_only;
  int32_t resting;         ///< Whether the server failed, and is left alone for a while.
  int32_t gives_leases;    ///< Whether the server lets one machine compile for all.
  uint64_t round_trip_us;  ///< Of the latest call that succeeded. Microseconds; 0 where none has.
  uint64_t asked;          ///< Requests.
  uint64_t found;          ///< Objects that were given.
  uint64_t failures;
  uint64_t slow;         ///< Answers that came when whoever had asked was gone.
  uint64_t pushed;       ///< Entries that were put.
  uint64_t duplicates;   ///< Of those, such as were there already: somebody else compiled them too.
  uint64_t dropped;      ///< Entries that were not put: too many waited, or the server failed.
  uint64_t waiting;      ///< Entries that are to be put, or to be kept here.
  uint64_t lease_waits;  ///< How often somebody found another machine compiling what he needs.
} kiln_remote_info;

/// All of them, in their order, and how many there are. `reach`: asks each server something first, to
/// measure it. Errors: invalid_argument. Since version 6.
kiln_error* kiln_runtime_get_remotes(const kiln_runtime* runtime, int32_t reach,
                                     kiln_remotes** remotes, size_t* count);
/// Errors: invalid_argument.
kiln_error* kiln_remotes_get_info(const kiln_remotes* remotes, size_t index,
                                  kiln_remote_info* info);
void kiln_remotes_free(kiln_remotes* remotes);

/// What a runtime looks for on the machine.
typedef int32_t kiln_tool;
enum {
  KILN_TOOL_COMPILER = 0,  ///< NVRTC.
  KILN_TOOL_DRIVER = 1,    ///< The CUDA driver, and a device.
  KILN_TOOL_LINKER = 2,    ///< nvJitLink.
  KILN_TOOL_PACKER = 3,    ///< nvFatbin.
  KILN_TOOL_WORKER =
      4  ///< kiln-worker, without which compiles run in this process. Since version 2.
};

/// Whether one tool of the machine was found, and why not. Immutable.
typedef struct kiln_availability kiln_availability;

typedef struct kiln_availability_info {
  size_t size;
  int32_t available;
  const char* description;  ///< E.g. "NVRTC 13.0, /usr/local/cuda/lib64/libnvrtc.so.13".
  const char* reason;       ///< Why not; empty when available.
  const char* path;         ///< The library's file, where it is known.
} kiln_availability_info;

/// Looks for the tool where that was not done yet. Errors: invalid_argument.
kiln_error* kiln_runtime_availability(const kiln_runtime* runtime, kiln_tool tool,
                                      kiln_availability** availability);
kiln_error* kiln_availability_get_info(const kiln_availability* availability,
                                       kiln_availability_info* info);
void kiln_availability_free(kiln_availability* availability);

// Compiling

/// A compiled program for one architecture. Immutable; outlives the runtime.
typedef struct kiln_artifact kiln_artifact;

typedef struct kiln_artifact_info {
  size_t size;
  const char* key;      ///< 32 hexadecimal digits, as the tool `kiln` shows them.
  const char* program;  ///< The program's name.
  const char* arch;     ///< E.g. "sm_90a".
  kiln_image_kind kind;
  kiln_origin origin;
  kiln_bytes image;       ///< A zero byte follows the last one, for PTX.
  const char* log;        ///< The compiler's warnings; empty when it had nothing to say.
  const char* toolchain;  ///< For people, e.g. "NVRTC 13.0".
  uint64_t compile_us;    ///< What the compile took when it was made. Microseconds.
  size_t kernel_count;
} kiln_artifact_info;

/// One parameter of a kernel. Bytes.
typedef struct kiln_parameter {
  uint32_t offset;
  uint32_t size;
} kiln_parameter;

/// What a kernel takes at one place.
typedef int32_t kiln_parameter_kind;
enum {
  KILN_PARAMETER_UNKNOWN = 0,   ///< Its symbol tells no types, as of `extern "C"`.
  KILN_PARAMETER_INTEGER = 1,   ///< Or bool, or a character.
  KILN_PARAMETER_FLOATING = 2,  ///< float or double.
  KILN_PARAMETER_POINTER = 3,   ///< To anything but a function.
  KILN_PARAMETER_OTHER = 4      ///< A type with a name of its own: a structure, an enumeration.
};

/// What is known of one kernel without loading it.
typedef struct kiln_kernel_info {
  size_t size;
  const char* expression;  ///< The name expression as the program lists it.
  const char* symbol;      ///< The lowered (mangled) name in the image.
  const char* arch;        ///< What the image was compiled for.
  kiln_image_kind kind;    ///< The image's.
  uint32_t registers;      ///< Per thread.
  uint32_t shared_bytes;   ///< Static shared memory per block.
  uint32_t local_bytes;    ///< Local memory (stack and spills) per thread.
  int32_t params_known;    ///< 0 for images that do not tell (PTX, LTO-IR, OptiX-IR).
  size_t param_count;
  const kiln_parameter* params;            ///< In position order.
  const kiln_parameter_kind* param_kinds;  ///< One for each of them.
} kiln_kernel_info;

/// The artifact of this program for this architecture ("sm_90a", "compute_90", "native"): from memory, from
/// the cache, or compiled and stored. Needs no GPU, but for "native". Threads and processes that ask for
/// the same one share one compile. KILN_IMAGE_CUBIN is not for a `compute_` architecture.
/// Errors: compile_failed, header_not_found, unknown_kernel, unknown_arch, invalid_option,
/// compiler_missing, timed_out, worker_failed, invalid_argument; driver_missing for "native" without a
/// device; not_cached in the mode cache-only.
kiln_error* kiln_runtime_compile(kiln_runtime* runtime, const kiln_program* program,
                                 const char* arch, kiln_image_kind kind, kiln_artifact** artifact);
/// Errors: invalid_argument.
kiln_error* kiln_artifact_get_info(const kiln_artifact* artifact, kiln_artifact_info* info);
/// The kernel at this index, in the sorted order of the expressions. Errors: invalid_argument.
kiln_error* kiln_artifact_get_kernel(const kiln_artifact* artifact, size_t index,
                                     kiln_kernel_info* info);
void kiln_artifact_free(kiln_artifact* artifact);

/// What a link is made from.
typedef struct kiln_link_spec {
  size_t size;
  const char* name;  ///< For messages and listings, e.g. "engine.link".
  /// In order: LTO-IR, relocatable cubins (compiled with `-rdc=true`), PTX.
  const kiln_artifact* const* inputs;
  size_t input_count;
  const char* arch;
  kiln_image_kind kind;        ///< Cubin, or PTX, for which all inputs have to be LTO-IR.
  const char* const* options;  ///< For the linker, e.g. "-maxrregcount=64".
  size_t option_count;
  /// Name expressions of the inputs, or symbols: what the linked artifact lists; all where not set.
  const char* const* kernels;
  size_t kernel_count;
} kiln_link_spec;

/// The inputs linked to one image: from memory, from the cache, or linked by nvJitLink and stored. Errors:
/// link_failed with the linker's whole log; invalid_argument, also for an image that a link cannot give;
/// invalid_option, unknown_kernel, unknown_arch; compiler_missing where there is no nvJitLink;
/// driver_missing for "native" without a device; not_cached in the mode cache-only.
kiln_error* kiln_runtime_link(kiln_runtime* runtime, const kiln_link_spec* spec,
                              kiln_artifact** artifact);

/// An architecture and an image kind.
typedef struct kiln_target {
  const char* arch;
  kiln_image_kind kind;
} kiln_target;

/// One fatbin of this program for all these targets, which are cubins and PTX: each image is obtained as by
/// kiln_runtime_compile(), and what nvFatbin makes of them is stored. Errors: those of
/// kiln_runtime_compile(); link_failed; compiler_missing where there is no nvFatbin.
kiln_error* kiln_runtime_fatbin(kiln_runtime* runtime, const kiln_program* program,
                                const kiln_target* targets, size_t count, kiln_artifact** artifact);

/// Whether a compile would be served now, and if not, why. Immutable; outlives the runtime.
typedef struct kiln_explanation kiln_explanation;

typedef struct kiln_explanation_info {
  size_t size;
  int32_t hit;
  kiln_origin origin;   ///< The layer that would serve it; KILN_ORIGIN_COMPILED on a miss.
  const char* key;      ///< Of the entry that would be served; empty on a miss.
  const char* reason;   ///< Of a miss, in one line; empty on a hit.
  const char* summary;  ///< All of it in one line, with the nearest entry's differences.
} kiln_explanation_info;

/// Compiles, writes and counts nothing. Errors: unknown_arch; driver_missing for "native" without a device;
/// invalid_argument, also for a fatbin.
kiln_error* kiln_runtime_explain(kiln_runtime* runtime, const kiln_program* program,
                                 const char* arch, kiln_image_kind kind,
                                 kiln_explanation** explanation);
/// Errors: invalid_argument.
kiln_error* kiln_explanation_get_info(const kiln_explanation* explanation,
                                      kiln_explanation_info* info);
void kiln_explanation_free(kiln_explanation* explanation);

/// A compile on its way; outlives the runtime. When the handle is freed, the compile goes on.
typedef struct kiln_compiling kiln_compiling;

/// As kiln_runtime_compile(), without waiting for the compiler: a hit is ready at once, and a miss is queued,
/// the higher priority first. Errors of the compile come through kiln_compiling_get(), also cancelled and
/// queue_full. Errors: unknown_arch, invalid_argument.
kiln_error* kiln_runtime_compile_async(kiln_runtime* runtime, const kiln_program* program,
                                       const char* arch, kiln_image_kind kind, int32_t priority,
                                       kiln_compiling** compiling);
/// Waits until it is ready, but no longer than `patience` milliseconds. `*ready` is whether it is ready then.
/// Errors: invalid_argument.
kiln_error* kiln_compiling_wait(const kiln_compiling* compiling, uint64_t patience, int32_t* ready);
/// Waits until it is ready, and gives an artifact of the caller's own, a new one each time. Errors: those of
/// kiln_runtime_compile(), cancelled, queue_full.
kiln_error* kiln_compiling_get(const kiln_compiling* compiling, kiln_artifact** artifact);
/// Makes it ready with the error cancelled, unless it is ready already. Errors: invalid_argument.
kiln_error* kiln_compiling_cancel(const kiln_compiling* compiling);
void kiln_compiling_free(kiln_compiling* compiling);

/// One item of a prefetch.
typedef struct kiln_prefetch_item {
  const kiln_program* program;
  const char* arch;
  kiln_image_kind kind;
} kiln_prefetch_item;

/// Called when an item is done, one call at a time, on the thread that prefetches: with its artifact, or with
/// the error; the other is NULL. Both are borrowed and valid during the call. Where it returns anything but
/// 0, the prefetch ends. It must not throw.
typedef int32_t (*kiln_prefetch_callback)(void* user, size_t index, const kiln_artifact* artifact,
                                          const kiln_error* error, size_t done, size_t total);

typedef struct kiln_prefetch_report {
  size_t size;
  size_t hits;
  size_t compiled;
  size_t failures;  ///< Includes items that were not done because the prefetch was ended.
} kiln_prefetch_report;

/// Brings all items into the cache, and compiles what is missing. What kiln_runtime_compile_async() was asked
/// for goes first. Waits until all are done; one that fails does not stop the others. `progress` and `report`
/// may be NULL. Errors: unknown_arch, invalid_argument.
kiln_error* kiln_runtime_prefetch(kiln_runtime* runtime, const kiln_prefetch_item* items,
                                  size_t count, kiln_prefetch_callback progress, void* user,
                                  kiln_prefetch_report* report);

// Launching

/// A kernel that can be launched. Immutable; keeps its runtime alive.
typedef struct kiln_kernel kiln_kernel;

/// The kernel of this expression for the device of the calling thread's current context (the first device's
/// primary context where there is none), from the best stored image that the device runs; compiled only
/// where there is none. Loaded once, whoever asks; still, keep the handle.
/// Errors: unknown_kernel, driver_missing, driver_failed, capturing, and those of kiln_runtime_compile().
kiln_error* kiln_runtime_kernel(kiln_runtime* runtime, const kiln_program* program,
                                const char* expression, kiln_kernel** kernel);

/// The same from the image for exactly this architecture and of this kind, whatever else is stored. The
/// caller has to know that the device runs it. Errors: as above; invalid_argument for LTO-IR and OptiX-IR.
kiln_error* kiln_runtime_kernel_for_target(kiln_runtime* runtime, const kiln_program* program,
                                           const char* expression, const char* arch,
                                           kiln_image_kind kind, kiln_kernel** kernel);
void kiln_kernel_free(kiln_kernel* kernel);

/// Errors: invalid_argument.
kiln_error* kiln_kernel_get_info(const kiln_kernel* kernel, kiln_kernel_info* info);

/// Sizes of a grid, of a block or of a cluster. Where x is set, a y or z of 0 counts as 1.
typedef struct kiln_dim3 {
  uint32_t x;
  uint32_t y;
  uint32_t z;
} kiln_dim3;

/// How blocks of a cluster are spread over the GPU.
typedef int32_t kiln_cluster_scheduling;
enum {
  KILN_CLUSTER_SCHEDULING_UNSET = 0,
  KILN_CLUSTER_SCHEDULING_SPREAD = 1,
  KILN_CLUSTER_SCHEDULING_LOAD_BALANCING = 2
};

/// How a kernel is launched. Each of the fields after `shared_bytes` needs, where it is set, a driver and a
/// device that know it.
typedef struct kiln_launch_config {
  size_t size;
  kiln_dim3 grid;         ///< Blocks.
  kiln_dim3 block;        ///< Threads per block.
  uint32_t shared_bytes;  ///< Dynamic shared memory per block, as much as the device has.
  int32_t cooperative;    ///< 1: all blocks at once, so that the grid may synchronise.
  kiln_dim3 cluster;      ///< Blocks per cluster, which divide the grid.
  /// A larger cluster to be used where there is room, a multiple of `cluster`.
  kiln_dim3 preferred_cluster;
  kiln_cluster_scheduling cluster_scheduling;
  /// 1: programmatic dependent launch; may begin before the kernel ahead of it has ended.
  int32_t programmatic_serialization;
  int32_t has_priority;  ///< 1: `priority` counts.
  int32_t priority;      ///< As cuStreamCreateWithPriority has it; lower goes first.
} kiln_launch_config;

/// Queues a launch in a stream of the calling thread's current context. Where there is none, the primary
/// context of the kernel's device becomes current. `stream` is a CUstream; NULL is the legacy default stream.
///
/// Each argument is the bytes of one parameter, in order, which are copied. Count and sizes are compared with
/// the kernel's parameters where those are known, unless the library was built with KILN_LAUNCH_CHECKS=0;
/// bytes do not tell alignments and types. Where the parameters are not known, the driver reads as many bytes
/// as the kernel takes.
///
/// Errors, with nothing launched: argument_mismatch, naming kernel, position, expected and given;
/// invalid_argument, also for a configuration that is beyond a limit, which is named; driver_failed.
kiln_error* kiln_kernel_launch(const kiln_kernel* kernel, void* stream,
                               const kiln_launch_config* config, const kiln_bytes* arguments,
                               size_t count);

/// What the driver and the image tell of a kernel on the device that it was loaded for.
typedef struct kiln_kernel_attributes {
  size_t size;
  uint32_t registers;                 ///< Per thread.
  uint32_t shared_bytes;              ///< Static shared memory per block.
  uint32_t local_bytes;               ///< Local memory per thread.
  uint32_t constant_bytes;            ///< Of the module's constants that it uses.
  uint32_t max_threads_per_block;     ///< This kernel's, at most the device's.
  uint32_t max_dynamic_shared_bytes;  ///< What a launch may ask for.
  kiln_dim3 required_cluster;         ///< `__cluster_dims__`; zeros where it has none.
  uint32_t binary_version;            ///< 10 * major + minor of the code.
} kiln_kernel_attributes;

/// May load the kernel. Errors: driver_failed, invalid_argument.
kiln_error* kiln_kernel_get_attributes(const kiln_kernel* kernel,
                                       kiln_kernel_attributes* attributes);

/// How many blocks of so many threads, each with so much dynamic shared memory, one multiprocessor runs at
/// once. Needs a current context. Errors: driver_failed, invalid_argument.
kiln_error* kiln_kernel_blocks_per_multiprocessor(const kiln_kernel* kernel, uint32_t threads,
                                                  uint32_t dynamic_shared_bytes, uint32_t* blocks);

// Modules

/// An image in the driver, for one device, whatever made it. Immutable; keeps its runtime alive.
typedef struct kiln_module kiln_module;

/// The image of this program, for the same device and obtained as by kiln_runtime_kernel(), with all its
/// kernels loaded. Errors: those of kiln_runtime_kernel().
kiln_error* kiln_runtime_module(kiln_runtime* runtime, const kiln_program* program,
                                kiln_module** module);
/// The same for an artifact. Errors: driver_missing, driver_failed, capturing, invalid_argument.
kiln_error* kiln_runtime_module_of_artifact(kiln_runtime* runtime, const kiln_artifact* artifact,
                                            kiln_module** module);
/// The same for an image that another tool made: a cubin, a fatbin or PTX, which is copied; `name` for
/// messages. Errors: as above; invalid_argument for what is no such image.
kiln_error* kiln_runtime_module_of_image(kiln_runtime* runtime, kiln_bytes image, const char* name,
                                         kiln_module** module);
/// A kernel by its name expression, its symbol, or the C++ name that the symbol stands for. Errors:
/// unknown_kernel, which names those that there are; invalid_argument.
kiln_error* kiln_module_kernel(const kiln_module* module, const char* name, kiln_kernel** kernel);
/// Where a `__constant__` or `__device__` variable lies on the device, by its symbol or listed expression,
/// and how many bytes it has; for the calling thread's context, valid as long as that and the runtime.
/// Errors: not_found, driver_failed, invalid_argument.
kiln_error* kiln_module_variable(const kiln_module* module, const char* name, uint64_t* address,
                                 size_t* size);
void kiln_module_free(kiln_module* module);

#pragma GCC visibility pop
#ifdef __cplusplus
}  // extern "C"
#endif
