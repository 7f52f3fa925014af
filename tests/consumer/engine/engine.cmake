# What an engine writes, wherever it has kiln from.
add_executable(engine "${CMAKE_CURRENT_LIST_DIR}/main.cpp")
target_link_libraries(engine PRIVATE kiln::kiln)
kiln_embed_headers(engine
  NAMESPACE engine
  BASE "${CMAKE_CURRENT_LIST_DIR}/headers"
  PREFIX engine/
  FILES scale.cuh detail/factor.cuh)
