// ünïcödé, "quotes", back\slash, ??= and %s
#pragma once
#include "info.h"
#define A_VALUE INFO
