#pragma once

#include <cstdint>
