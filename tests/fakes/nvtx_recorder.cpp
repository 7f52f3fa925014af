// Stands in for a profiler: NVTX maps this library where NVTX_INJECTION64_PATH names it. Each range that
// begins or ends in any domain becomes a line of the file that FAKE_NVTX_LOG names.

#include <nvtx3/nvToolsExt.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace {

void note(const std::string& line) {
  const char* path = std::getenv("FAKE_NVTX_LOG");
  if (path != nullptr) std::ofstream(path, std::ios::app) << line << '\n';
}

// The handle of a domain is its name.
std::string name_of(nvtxDomainHandle_t domain) { return reinterpret_cast<const char*>(domain); }

nvtxDomainHandle_t NVTX_API create_domain(const char* name) {
  // As NVTX's own handles: never given back.
  static const std::string copy = name;
  return reinterpret_cast<nvtxDomainHandle_t>(const_cast<char*>(copy.c_str()));
}

int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  note(name_of(domain) + " begin " + attributes->message.ascii);
  return 0;
}

int NVTX_API pop(nvtxDomainHandle_t domain) {
  note(name_of(domain) + " end");
  return 0;
}

template <class Function>
void set(NvtxFunctionTable table, NvtxCallbackIdCore2 id, Function* function) {
  *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0 ||
      size <= NVTX_CBID_CORE2_DomainCreateA) {
    return 0;
  }
  set(table, NVTX_CBID_CORE2_DomainCreateA, create_domain);
  set(table, NVTX_CBID_CORE2_DomainRangePushEx, push);
  set(table, NVTX_CBID_CORE2_DomainRangePop, pop);
  return 1;
}
