#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "image/served_artifact.h"
#include "kiln/artifact.h"
#include "kiln/cache.h"
#include "kiln/digest.h"
#include "kiln/error.h"
#include "kiln/explain.h"
#include "kiln/request.h"
#include "lookup/look_up_counters.h"
#include "lookup/why_not.h"
#include "remote/asking_time.h"

namespace kiln {

/// How one artifact is looked up, and how it is made: all that the obtainer need not know of programs and of images.
/// Serves one call, on one thread.
class Making {
 public:
  Making(const Making&) = delete;
  Making& operator=(const Making&) = delete;
  virtual ~Making() = default;

  struct Found {
    ServedArtifact served;
    std::string remark = {};  ///< Mostly empty.
    bool trusted = false;     ///< Whether it was taken without all its headers.
  };
  /// Asks the layers; the error says why nothing serves.
  [[nodiscard]] virtual tl::expected<Found, Miss> look_up() = 0;

  /// Asks the stores that machines share, for what look_up() did not find.
  enum class Heard {
    lately,  ///< What this machine heard of them a moment ago does as well.
    anew,
  };
  [[nodiscard]] virtual tl::expected<Found, Miss> fetch(Heard heard) = 0;

  /// Names what threads must agree in to share what is made; processes must agree in the maker as well.
  [[nodiscard]] virtual Digest flight() const = 0;

  /// Who makes it on this machine; valid as long as the runtime. Errors: compiler_missing.
  [[nodiscard]] virtual Result<const Toolchain*> maker() const = 0;

  struct Made {
    Artifact artifact;  ///< But for its toolchain and key.
    DependencySet dependencies = {};
    Witness witness = {};
    std::vector<Text> texts = {};  ///< Borrowed from what made it.
  };
  /// REQUIRES: maker().
  [[nodiscard]] virtual Result<Made> make(const std::stop_token& stop,
                                          LookUpCounters& counters) = 0;

  /// A miss for this reason, with the entry that is most like it where one is looked for.
  [[nodiscard]] virtual Explanation explain_miss(std::string why_not);

  [[nodiscard]] tl::unexpected<Error> cancelled() const;

  const Request& request;
  const Digest request_digest;
  const std::string_view doing;  ///< For messages: "compiling", "making".
  const bool keep;  ///< Whether anything of it may get onto the disk, and other processes share it.
  AskingTime asking_time;

 protected:
  /// Borrows the request; `doing` is of static lifetime.
  Making(const Request& asked, const Digest& digest, std::string_view verb, bool keep_it)
      : request(asked), request_digest(digest), doing(verb), keep(keep_it) {}
};

}  // namespace kiln
