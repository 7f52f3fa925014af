#pragma once

// kiln/export.h: marks what a shared kiln exports.
//
//     struct KILN_EXPORT Seen {};      // by those who link the library
//     struct KILN_INTERNAL Unseen {};  // in a public header, and nobody's business

/// What a shared kiln gives to those who link it. Everything else in it is hidden.
#define KILN_EXPORT [[gnu::visibility("default")]]

/// What public headers have to name and is nobody's business.
#define KILN_INTERNAL [[gnu::visibility("hidden")]]
