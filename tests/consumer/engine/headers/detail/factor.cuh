#pragma once

namespace engine {

constexpr float factor = 2.0f;

}  // namespace engine
