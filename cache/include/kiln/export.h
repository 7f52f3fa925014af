#pragma once

// kiln/export.h: marks what a shared kiln exports.
//
//     struct KILN_EXPORT Seen {};      // by those who link the library
//     struct KILN_INTERNAL Unseen {};  // in a public header, and nobody's business

#if defined(__cplusplus) && __cplusplus < 202002L
#error "kiln needs C++20: compile with -std=c++20 or later"
#endif

/// What a shared kiln gives to those who link it. Everything else in it is hidden.
#define KILN_EXPORT [[gnu::visibility("default")]]

/// What public headers have to name and is nobody's business.
#define KILN_INTERNAL [[gnu::visibility("hidden")]]
