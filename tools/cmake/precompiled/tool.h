#pragma once

// The same for the command line.

#include <nlohmann/json.hpp>

#include "standard.h"
