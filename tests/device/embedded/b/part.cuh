#pragma once
#undef INFO
#include "info.h"
#define B_VALUE INFO
