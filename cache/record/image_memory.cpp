#include "record/image_memory.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <utility>

#include "system/thread_value.h"

namespace kiln::storage {
namespace {

constexpr std::size_t page_bytes = std::size_t{2} << 20;
/// What a process reads before it is one that reads many images.
constexpr std::size_t few_bytes = std::size_t{4} << 20;
/// A smaller image takes few of the heap's pages, and would keep a large one.
constexpr std::size_t least_bytes = std::size_t{32} << 10;
constexpr std::size_t cache_line = 64;
constexpr std::size_t alignment = alignof(std::max_align_t);

std::shared_ptr<char> heap_memory(std::size_t bytes) {
  const auto memory = std::make_shared_for_overwrite<char[]>(bytes);
  return {memory, memory.get()};
}

/// A page that nobody uses. A thread that takes or gives one swaps it, so that fork() finds no lock held.
std::atomic<char*> spare_page = nullptr;

void unmap(char* page) noexcept {
  if (page != nullptr) ::munmap(page, page_bytes);
}

void give_back(char* page) noexcept { unmap(spare_page.exchange(page)); }

/// Null where the system gives no more.
char* map_page() {
  void* const mapped = ::mmap(nullptr, 2 * page_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<char*>(mapped);
  const auto before = -reinterpret_cast<std::uintptr_t>(begin) % page_bytes;
  if (before != 0) ::munmap(begin, before);
  ::munmap(begin + before + page_bytes, page_bytes - before);
  // A system without large pages refuses, and gives small ones.
  ::madvise(begin + before, page_bytes, MADV_HUGEPAGE);
  return begin + before;
}

std::shared_ptr<char> large_page() {
  char* page = spare_page.exchange(nullptr);
  if (page == nullptr) page = map_page();
  return page != nullptr ? std::shared_ptr<char>(page, give_back) : nullptr;
}

/// The page that a thread fills.
struct Filling {
  std::shared_ptr<char> page;
  std::size_t used = page_bytes;

  /// Null where the system gives no more. REQUIRES: at most a page.
  std::shared_ptr<char> take(std::size_t bytes) {
    if (used + bytes > page_bytes) {
      page.reset();  // first, so that it may be the next one
      page = large_page();
      used = 0;
    }
    if (page == nullptr) {
      used = page_bytes;
      return nullptr;
    }
    return {page, page.get() + std::exchange(used, used + bytes)};
  }
};

std::shared_ptr<char> take_from_page(std::size_t bytes) {
  auto* const filling = system::ThreadValue<Filling>::get();
  return filling != nullptr ? filling->take(bytes) : nullptr;
}

bool reads_many(std::size_t bytes) {
  static std::atomic<std::size_t> read = 0;
  return read.fetch_add(bytes, std::memory_order_relaxed) > few_bytes;
}

}  // namespace

std::shared_ptr<char> image_memory(std::size_t size) {
  const auto bytes = (size + 1 + cache_line - 1) / cache_line * cache_line;
  std::shared_ptr<char> memory;
  if (reads_many(bytes) && bytes >= least_bytes && bytes <= page_bytes / 2)
    memory = take_from_page(bytes);
  if (memory == nullptr) memory = heap_memory(bytes);
  memory.get()[size] = '\0';
  return memory;
}

ImageBuffer::ImageBuffer(std::size_t buffer_size, std::size_t image_size) : size(buffer_size) {
  const auto before = (alignment - (buffer_size - image_size) % alignment) % alignment;
  const auto memory = image_memory(before + buffer_size);
  bytes = {memory, memory.get() + before};
}

ImageBuffer ImageBuffer::copy_of(std::string_view text, std::size_t image_size) {
  if (text.size() < image_size) return ImageBuffer(std::string(text));
  ImageBuffer copy(text.size(), image_size);
  if (!text.empty()) std::memcpy(copy.bytes.get(), text.data(), text.size());
  return copy;
}

ImageBuffer::ImageBuffer(std::string text) {
  const auto owned = std::make_shared<std::string>(std::move(text));
  bytes = {owned, owned->data()};
  size = owned->size();
}

ImageBuffer ImageBuffer::last(std::size_t count) && {
  char* const begin = bytes.get() + (size - count);
  ImageBuffer rest;
  rest.bytes = {std::move(bytes), begin};
  rest.size = count;
  return rest;
}

Bytes ImageBuffer::image(std::size_t image_size) && {
  char* begin = bytes.get() + (size - image_size);
  const auto beyond = reinterpret_cast<std::uintptr_t>(begin) % alignment;
  // Drivers read structures there. What is shorter than its alignment has none.
  if (beyond != 0 && beyond <= size - image_size) {
    std::memmove(begin - beyond, begin, image_size + 1);
    begin -= beyond;
  }
  return {std::shared_ptr<const char>(std::move(bytes), begin), image_size};
}

}  // namespace kiln::storage
