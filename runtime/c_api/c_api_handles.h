#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kiln/c_api.h"
#include "kiln/kiln.h"

namespace kiln::c_api {

/// A kernel's parameters as a kiln_kernel_info borrows them.
struct Parameters {
  explicit Parameters(const KernelInfo& info);

  std::vector<kiln_parameter> params;
  std::vector<kiln_parameter_kind> kinds;
};

}  // namespace kiln::c_api

// The handles of kiln/c_api.h: values of the C++ API, and beside them what C is given of them in another
// form.

struct kiln_error {
  kiln_code code;
  kiln::Error error;  ///< Without a code of its own for what only C knows.
};

struct kiln_header_set {
  kiln::HeaderSet headers;
};

struct kiln_program {
  kiln::Program program;
};

struct kiln_runtime {
  kiln::Runtime runtime;
};

struct kiln_availability {
  kiln::Availability availability;
};

struct kiln_remotes {
  std::vector<kiln::RemoteState> states;
};

struct kiln_artifact {
  explicit kiln_artifact(kiln::Artifact made);

  kiln::Artifact artifact;
  std::string key;
  std::vector<kiln::c_api::Parameters> parameters;  ///< Of each kernel.
};

struct kiln_explanation {
  explicit kiln_explanation(kiln::Explanation made);

  kiln::Explanation explanation;
  std::string key;
  std::string summary;
};

struct kiln_compiling {
  kiln::Compiling compiling;
};

struct kiln_kernel {
  kiln_kernel(kiln::Runtime owner, kiln::Kernel loaded);

  kiln::Runtime runtime;
  kiln::Kernel kernel;
  kiln::c_api::Parameters parameters;
};

struct kiln_module {
  kiln::Runtime runtime;
  kiln::Module module;
};
