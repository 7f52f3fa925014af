#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "file/sqlite.h"
#include "kiln/cache.h"

namespace kiln::storage {

/// Looks at a database piece by piece. Call read() and examine() by turns, until read() has no more.
///
/// A reader keeps writers from committing for as long as it reads. So each read() is a transaction of its own, which is
/// short however large the file is, and compares only what it sees within it. examine() then looks at what read() has
/// copied, with no lock held.
class Verifier {
 public:
  struct Subject {
    std::string file;     ///< How findings name it.
    bool deep = false;    ///< Whether to decompress and decode as well.
    bool bundle = false;  ///< Nobody writes a bundle; it has no marks, and may have no texts.
  };

  explicit Verifier(Subject subject) : subject_(std::move(subject)) {}

  enum class Progress {
    more,
    done,
    failed,  ///< SQLite refused something for another reason than damage: see failure().
  };
  [[nodiscard]] Progress read(Connection& connection);

  /// Why it failed. The connection forgets that at the end of the transaction.
  [[nodiscard]] const Error& failure() const noexcept { return failure_; }

  /// Looks at what the last read() has copied.
  void examine();

  [[nodiscard]] VerifyReport take() { return std::move(report_); }

 private:
  struct EntryRow;
  struct WitnessRow;
  struct KernelsRow;
  using Stage = Progress (Verifier::*)(Connection&);

  Progress check_pages(Connection& connection);
  Progress check_schema(Connection& connection);
  Progress check_indexes(Connection& connection);
  Progress check_entries(Connection& connection);
  Progress check_texts(Connection& connection);
  Progress check_sets(Connection& connection);
  Progress check_witnesses(Connection& connection);
  Progress check_kernels(Connection& connection);
  Progress check_signatures(Connection& connection);
  Progress check_links(Connection& connection);
  Progress check_marks(Connection& connection);
  Progress check_state(Connection& connection);

  /// Shows the statement's rows to `look` for as long as this step may last.
  Progress walk(Connection& connection, std::string_view where, Statement& row,
                const std::function<void()>& look);
  /// The same for a statement whose first column is an id, ascending from beyond its parameter.
  Progress walk_ids(Connection& connection, std::string_view where, std::string_view sql,
                    const std::function<void(Statement&)>& look);
  /// The same for one whose parameter is how many rows to leave out.
  Progress walk_counting(Connection& connection, std::string_view where, std::string_view sql,
                         const std::function<void(Statement&)>& look);
  /// SQLite's failure, which is a finding where it tells of damage.
  Progress stopped(Connection& connection, std::string_view where);

  void read_entry(Statement& row);
  void read_text(Statement& row);
  void read_set(Connection& connection, Statement& row);
  void check_texts_of(Connection& connection, std::int64_t set, const std::string& name,
                      const DependencySet& dependencies);
  void examine_entry(const EntryRow& row);
  void examine_payload(const EntryRow& row);
  void examine_text(const Digest& digest, std::int64_t raw_bytes, std::string_view frame);
  void examine_witness(const WitnessRow& row);
  void examine_kernels(const KernelsRow& row);
  void examine_later(std::size_t bytes, std::function<void()> work);
  void add(std::string_view what, std::string name, std::string problem);
  /// Adds a finding for each column from `first` on that is 0, with the problem at its place.
  void add_unmet(Statement& row, int first, std::string_view what, const std::string& name,
                 std::initializer_list<std::string_view> problems);

  const Subject subject_;
  VerifyReport report_;
  Error failure_;
  std::size_t stage_ = 0;
  std::size_t index_ = 0;  ///< Which of the indexes check_indexes() is at.
  std::int64_t position_ =
      std::numeric_limits<std::int64_t>::min();  ///< How far a stage is: an id.
  std::int64_t passed_ = 0;                      ///< Or a number of rows.
  bool has_kernels_ = false;
  bool has_signatures_ = false;
  std::chrono::steady_clock::time_point until_{};
  std::vector<std::function<void()>> copied_;
  std::size_t copied_bytes_ = 0;
};

}  // namespace kiln::storage
