#pragma once

#include "detail/factor.cuh"

namespace engine {

__device__ inline float scale(float x) { return factor * x; }

}  // namespace engine
