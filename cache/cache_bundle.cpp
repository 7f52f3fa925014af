#include "cache_impl.h"

namespace kiln {

Result<ExportReport> Cache::Impl::export_bundle(const std::filesystem::path&,
                                                const ExportOptions&) {
  return fail(ErrorCode::cache_unusable, "export is not built yet");
}

Result<ImportReport> Cache::Impl::import(Impl&) {
  return fail(ErrorCode::cache_unusable, "import is not built yet");
}

}  // namespace kiln
