#pragma once

/// What a shared kiln gives to those who link it. Everything else in it is hidden.
#define KILN_EXPORT [[gnu::visibility("default")]]

/// What public headers have to name and is nobody's business.
#define KILN_INTERNAL [[gnu::visibility("hidden")]]
