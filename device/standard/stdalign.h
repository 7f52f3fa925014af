#pragma once

// alignas and alignof are words of the language.
#define __alignas_is_defined 1
#define __alignof_is_defined 1
