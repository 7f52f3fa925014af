#pragma once

// kiln/program.h: what is compiled: source, headers, options, the kernels wanted, variants.
//
//     const auto program = kiln::Program::make({
//         .name = "scale.cu",
//         .source = "template <class T> __global__ void scale(T* x, T by) { x[threadIdx.x] *= by; }",
//         .kernels = {"scale<float>"},
//         .options = {"--std=c++20"}}).value();

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/digest.h"
#include "kiln/error.h"
#include "kiln/export.h"
#include "kiln/headers.h"
#include "kiln/target.h"

namespace kiln {
class MadeSource;
}

namespace KILN_EXPORT kiln {

/// An alternative of a program for some architectures. What it leaves out is the program's own.
struct VariantSpec {
  std::string name;  ///< E.g. "hopper"; not "default", which is the program without its variants.
  /// Which targets it is for: "sm_90a" means that target alone, "sm_100f" the `a` and `f` targets of that
  /// family, "sm_80" that target and all later ones. Where several variants are for a target, the most
  /// specific one wins, in that order, and then the highest.
  std::string since;
  std::string file = {};  ///< The name of its source, instead of ProgramSpec::name.
  std::optional<std::string> source = {};
  std::optional<std::vector<std::string>> options = {};  ///< Instead of the program's, all of them.
  /// From an expression of the program to the variant's own, which is compiled instead.
  std::map<std::string, std::string> kernels = {};
};

/// What a Program is made from.
struct ProgramSpec {
  std::string name = {};    ///< For messages and `__FILE__`, e.g. "rms_norm.cu"; relative, no "..".
  std::string source = {};  ///< CUDA C++.
  std::vector<HeaderSet> headers =
      {};  ///< Searched before any directory, in order, by literal spelling.
  std::vector<std::filesystem::path> include_dirs = {};  ///< What `-I` would name, in order.
  std::vector<std::string> kernels =
      {};  ///< Name expressions, e.g. "rms_norm<__half, 4096>"; spaces do not matter.
  std::vector<std::string> options = {};  ///< For the compiler, e.g. "--std=c++20", "-DEPS=1e-5f".
  /// Whether the CUDA toolkit's headers are searched as well, after all others.
  bool toolkit_headers = true;
  /// Alternatives; the target decides which one is compiled. Usually there are none.
  std::vector<VariantSpec> variants = {};
  /// What stands for the source in the key: a version, or a digest of what the source is generated from; empty where the text
  /// itself is in the key. That each word stands for one source is the caller's to see to, the generator's own version and all that
  /// it reads included (name, options and headers are in the key beside it): `KILN_CHECK_SOURCES` compares. Of what is long to
  /// write down, digest_of() makes a word. The cache then keeps no text of the source.
  std::string source_word = {};
  /// Makes the source, instead of `source`, with a source_word. Called on a miss, at most once for each Program, on any thread;
  /// of equal programs that are asked for together, one is called. Not on a hit, unless what is asked for is written down
  /// (`KILN_RECORD`). What it throws fails the compile.
  std::function<std::string()> make_source = {};
  /// Whether Runtime::kernel() may be asked for expressions that are not listed. Each is then compiled by itself, as a program
  /// of with_kernels() would be, when it is first asked for: for an engine that learns at run time which instances it needs.
  bool extends = false;
  /// Whose it is, as RuntimeOptions::engine; that one where this is empty. A record says whose each program was.
  std::string engine = {};
  /// Whether the cache keeps what is compiled. Where not, this process's memory does, nothing of the program gets onto the
  /// disk, and no other process waits for it.
  bool keep = true;
};

class Program;

/// What is compiled of a program for one target: one of its variants, or its default. A view, valid as long
/// as the Program that gave it.
class ProgramChoice {
 public:
  ProgramChoice(std::string_view variant, const Program& program,
                const std::map<std::string, std::string>* kernels) noexcept
      : variant_(variant), program_(&program), kernels_(kernels) {}

  /// The variant's name, or "default".
  [[nodiscard]] std::string_view variant() const noexcept { return variant_; }
  /// What is compiled: an ordinary program, without variants. Artifacts name kernels by its expressions.
  [[nodiscard]] const Program& program() const noexcept { return *program_; }
  /// The expression that is compiled here for this one of the original program.
  [[nodiscard]] std::string_view expression(std::string_view asked) const;

 private:
  std::string_view variant_;
  const Program* program_;
  const std::map<std::string, std::string>* kernels_;  ///< Null where every one stands for itself.
};

/// Source text and all that is compiled with it: an immutable handle, cheap to copy, validated and
/// digested once when made. Safe to use from any thread.
class Program {
 public:
  /// Errors: invalid_argument (a name that is absolute, empty or climbs out with "..", an empty expression, a
  /// NUL byte; a source and a function that makes one, or such a function without a word for it; a variant without a name,
  /// with a name or a `since` that another variant has, or with a mapping for an expression that the program does not
  /// list), invalid_option (one that kiln owns; the message names
  /// the field to use).
  [[nodiscard]] static Result<Program> make(ProgramSpec spec);

  [[nodiscard]] const std::string& name() const noexcept;
  /// Where ProgramSpec::make_source is to make it, this makes it; empty where that failed, which a compile then tells.
  [[nodiscard]] const std::string& source() const;
  /// Of the text, or of the word that stands for it.
  [[nodiscard]] const Digest& source_digest() const noexcept;
  /// What stands for the source in the key; empty where the text itself does.
  [[nodiscard]] const std::string& source_word() const noexcept;
  /// Whose it is; empty where the runtime says so.
  [[nodiscard]] const std::string& engine() const noexcept;
  /// False where source() would have to make it.
  [[nodiscard]] bool has_source() const noexcept;
  /// Whether the source is there; makes it where it is to be made. Errors: invalid_argument, with what its maker threw.
  [[nodiscard]] Outcome ensure_source() const;
  [[nodiscard]] const std::vector<HeaderSet>& headers() const noexcept;
  /// Absolute and lexically normal.
  [[nodiscard]] const std::vector<std::filesystem::path>& include_dirs() const noexcept;
  /// Sorted and distinct.
  [[nodiscard]] const std::vector<std::string>& kernels() const noexcept;
  [[nodiscard]] const std::vector<std::string>& options() const noexcept;
  [[nodiscard]] bool toolkit_headers() const noexcept;
  /// Whether Runtime::kernel() may be asked for expressions that are not listed.
  [[nodiscard]] bool extends() const noexcept;
  /// Whether the cache keeps what is compiled of it.
  [[nodiscard]] bool keep() const noexcept;

  /// In the order in which they were given.
  [[nodiscard]] const std::vector<VariantSpec>& variants() const noexcept;

  /// The same program with these name expressions in the place of its own: a program of its own, with an id and a key of its
  /// own. A source that is made on demand is made once for both. Of variants it keeps what concerns these expressions.
  /// Errors: those of make().
  [[nodiscard]] Result<Program> with_kernels(std::vector<std::string> kernels) const;

  /// The same program with this variant for every target, whatever its `since` says; "default" is the program
  /// without its variants. Use it like any Program. Cheap, and has the same id() each time.
  /// Errors: invalid_argument, listing the names there are.
  [[nodiscard]] Result<Program> with_variant(std::string_view name) const;

  /// Whether with_variant() decided.
  [[nodiscard]] bool is_pinned() const noexcept { return pinned_ != nullptr; }

  /// What is compiled for a target: the variant that with_variant() asked for; else the one named
  /// `preferred`, where there is one; else the one that is for this target; else the default.
  /// REQUIRES: target is not native.
  [[nodiscard]] ProgramChoice for_target(const Target& target,
                                         std::string_view preferred = {}) const noexcept;

  /// All copies of one handle share it, and no other program of the process ever has it. Memoisation goes by
  /// it.
  [[nodiscard]] std::uint64_t id() const noexcept;

 private:
  struct KILN_INTERNAL State;
  struct KILN_INTERNAL Alternative;
  explicit Program(std::shared_ptr<const State> state) noexcept;
  static Result<Program> make(ProgramSpec spec, std::shared_ptr<MadeSource> made_source);
  static Result<Alternative> make_alternative(const ProgramSpec& spec, const VariantSpec& variant);
  static Outcome add_alternatives(State& state);

  std::shared_ptr<const State> state_;
  const Alternative* pinned_ = nullptr;  ///< One of the state's, or null where targets decide.
};

/// The templates of kernels that a program's source declares and has no instance of, by their names with namespaces, as
/// far as a scan can tell. Of these only what its name expressions name is compiled. For messages.
[[nodiscard]] std::vector<std::string> kernel_templates(const Program& program);

}  // namespace kiln
