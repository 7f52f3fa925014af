// The element types of activations and weights: __half and __nv_bfloat16.
#pragma once

#include <kiln/bfloat16.cuh>
#include <kiln/half.cuh>
