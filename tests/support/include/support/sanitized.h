#pragma once

#if defined(__has_feature)
#define KILN_TEST_HAS_FEATURE(name) __has_feature(name)
#else
#define KILN_TEST_HAS_FEATURE(name) 0
#endif

namespace kiln::test {

/// Whether a sanitizer is compiled in, which makes everything several times slower.
inline constexpr bool is_sanitized =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    KILN_TEST_HAS_FEATURE(address_sanitizer) || KILN_TEST_HAS_FEATURE(thread_sanitizer)
    true;
#else
    false;
#endif

}  // namespace kiln::test
