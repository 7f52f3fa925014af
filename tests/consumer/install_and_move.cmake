# Installs BUILD_DIR into one folder and moves that to PREFIX: what is installed must not know its place.
set(first "${PREFIX}.first")
file(REMOVE_RECURSE "${first}" "${PREFIX}")
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${first}"
  COMMAND_ERROR_IS_FATAL ANY)
file(RENAME "${first}" "${PREFIX}")
