#include "vendor/nvtx.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define KILN_HAS_NVTX 1
#else
#define KILN_HAS_NVTX 0
#endif

namespace kiln::vendor {

#if KILN_HAS_NVTX

namespace {

// Never destroyed, since ranges may end while the process does.
nvtxDomainHandle_t domain() {
  static nvtxDomainHandle_t const kiln = nvtxDomainCreateA("kiln");
  return kiln;
}

}  // namespace

ProfilerRange::ProfilerRange(const std::string& what) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = what.c_str();
  nvtxDomainRangePushEx(domain(), &attributes);
}

ProfilerRange::~ProfilerRange() { nvtxDomainRangePop(domain()); }

#else

ProfilerRange::ProfilerRange(const std::string&) {}
ProfilerRange::~ProfilerRange() = default;

#endif

}  // namespace kiln::vendor
