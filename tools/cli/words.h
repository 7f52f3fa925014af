#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace kiln::cli {

// What a command line says, and the default where it says nothing. grammar.cpp fills them in; it has the
// words themselves, and what each is for.

/// What may be said before or after any verb.
struct Globals {
  std::optional<std::filesystem::path> cache;  ///< Absolute.
  bool json = false;
  bool quiet = false;
};

/// One program, and what it is for.
struct ProgramWords {
  std::filesystem::path file;
  std::vector<std::string> archs;
  std::vector<std::string> expressions;
  std::vector<std::filesystem::path> include_dirs;
  bool standard_headers = false;
  std::vector<std::string> options;  ///< -D and --option in the order of the command line.
  std::string image = "cubin";
  std::string program;  ///< A glob: which of a manifest's.
};

struct CompileWords : ProgramWords {
  std::string output;
  bool verbose = false;
};

/// One or more programs, and where the time of their compiles is written.
struct TraceWords : ProgramWords {
  std::vector<std::filesystem::path> files;  ///< Sources and manifests, in the place of `file`.
  std::size_t top = 20;                      ///< Rows of each table.
  std::string output;
  bool verbose = false;
};

struct LinkWords {
  std::vector<std::string> inputs;
  bool newest = false;  ///< As of EntryWords, of each.
  std::string arch;
  std::string name = "linked";
  std::vector<std::string> kernels;
  std::vector<std::string> options;
  std::string image = "cubin";
  std::string output;
};

struct PrewarmWords {
  std::vector<std::filesystem::path> manifests;
  std::string from;
  std::vector<std::string> archs;
  std::string image;
  std::optional<unsigned> jobs;
  std::optional<double> timeout;  ///< Seconds.
  bool verbose = false;
};

/// Which rows of a list are wanted, and how many.
struct ListWords {
  std::vector<std::string> archs;
  std::string program;  ///< A glob, as engine and kernel are; empty for all.
  std::string engine;
  std::string kernel;
  std::string age;
  bool reverse = false;
  std::optional<std::size_t> limit;
};

/// In the place of a store's URL: the first store that this setting names. So a password need not stand on a command line.
inline constexpr const char* first_remote = "KILN_REMOTE";

struct LsWords : ListWords {
  std::optional<std::string> store;  ///< Its URL or first_remote, in the place of the cache.
  std::string sort = "program";      ///< One of sort_orders().
  std::vector<std::string> images;   ///< Kinds.
  bool pinned = false;
};

struct KernelsWords : ListWords {
  std::string sort = "program";          ///< One of kernel_orders().
  std::optional<std::uint32_t> threads;  ///< Of the block that the occupancy is for.
};

struct DiffWords {
  std::string before;
  std::string after;
  std::vector<std::string> allowed;  ///< "registers=8", "size=5%".
};

struct ReportWords {
  std::string of;  ///< A cache's folder or a bundle; empty for that of --cache and the settings.
  std::vector<std::filesystem::path> manifests;
  std::vector<std::string> archs;  ///< In the place of those that manifests name.
  std::vector<std::filesystem::path> traces;
  std::string output;
};

/// One entry, by its key or a name.
struct EntryWords {
  std::string key;
  bool newest = false;  ///< Of several that fit, the one that was made last.
};

struct ShowWords : EntryWords {
  bool all = false;
};

struct ExtractWords : EntryWords {
  bool image = false;
  bool source = false;
  bool names = false;
  bool log = false;
  std::optional<std::filesystem::path> sources;  ///< A folder.
  std::filesystem::path output = "-";
};

struct DisasmWords : EntryWords {
  std::string kernel;  ///< Empty for all.
  bool ptx = false;
};

struct CompileCommandsWords {
  std::filesystem::path from;      ///< A cache's folder or a bundle; empty for the usual cache.
  std::filesystem::path manifest;  ///< In its place.
  std::string arch;                ///< In the place of those written down.
  std::filesystem::path sources;   ///< A folder.
  std::optional<std::filesystem::path> output;
};

struct StatsWords {
  bool reset = false;
  std::optional<std::string> openmetrics = {};  ///< The file to write; "-" for standard output.
};

struct VerifyWords {
  bool deep = false;
  bool signatures = false;
};

struct GcWords {
  std::optional<std::string> store;  ///< Its URL or first_remote, in the place of the cache.
  std::string max_size;
  std::string older_than;
  bool dry_run = false;
};

struct ClearWords {
  std::vector<std::string> keys;
  std::string engine;  ///< A glob; empty for all entries, where no keys are named.
  bool yes = false;
  bool dry_run = false;
};

struct PinWords {
  std::vector<std::string> keys;
  bool newest = false;  ///< As of EntryWords, of each.
};

/// Which entries are carried elsewhere: all, where no manifest is named.
struct CarriedWords {
  std::vector<std::filesystem::path> manifests;
  std::vector<std::string> archs;
  std::string image;
};

/// Of those, which leave a cache.
struct LeavingWords : CarriedWords {
  std::string engine;  ///< A glob; empty for all.
};

struct ExportWords {
  std::filesystem::path bundle;
  LeavingWords entries;
  bool without_sources = false;
  bool sign = false;
};

struct ImportWords {
  std::vector<std::filesystem::path> files;
};

struct PushWords {
  std::string store = first_remote;  ///< Or its URL.
  LeavingWords entries;
  bool without_sources = false;
  bool sign = false;
};

struct PullWords {
  std::string store = first_remote;  ///< Or its URL.
  CarriedWords entries;
};

struct ConfigWords {
  std::string action;  ///< "get", "set" or "unset"; all settings are listed where it is empty.
  std::string name;
  std::optional<std::string> value;
};

struct KeyWords {
  std::string action;              ///< "generate" or "show".
  std::vector<std::string> names;  ///< The name of a new one, or files of keys.
  std::filesystem::path directory = ".";
};

struct DoctorWords {
  bool verbose = false;
};

struct MergeWords {
  std::vector<std::filesystem::path> files;
  std::filesystem::path bundle;
  bool without_sources = false;
  bool sign = false;
};

}  // namespace kiln::cli
