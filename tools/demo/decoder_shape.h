#pragma once

/// The sizes of the demo's decoder. Its kernels are compiled for them, so they are constants.
namespace demo::shape {

inline constexpr int vocabulary = 1024;
inline constexpr int layers = 2;
inline constexpr int hidden = 512;
inline constexpr int intermediate = 1024;
inline constexpr int head_dim = 64;
inline constexpr int query_heads = 8;
inline constexpr int kv_heads = 2;
inline constexpr int queries_per_kv_head = query_heads / kv_heads;
inline constexpr int query_width = query_heads * head_dim;
inline constexpr int kv_width = kv_heads * head_dim;
inline constexpr int page_size = 16;  ///< Tokens whose keys and values lie in one page.
inline constexpr int pages = 16;
inline constexpr int max_positions = pages * page_size;
inline constexpr float attention_scale = 0.125f;  ///< One over the root of head_dim.
static_assert(attention_scale * attention_scale * head_dim == 1.0f);
inline constexpr float epsilon = 1e-5f;  ///< Of every normalisation.

}  // namespace demo::shape
