#pragma once

#include <string>

namespace kiln::vendor {

/// A range of the calling thread that profilers show in the domain "kiln"; it lasts as long as this object.
/// Costs next to nothing where there is no profiler. Where kiln was built without NVTX's headers, profilers
/// see nothing.
class ProfilerRange {
 public:
  explicit ProfilerRange(const std::string& what);
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;
  ~ProfilerRange();
};

}  // namespace kiln::vendor
