#pragma once

#include <filesystem>
#include <fstream>
#include <ios>
#include <string>

#include <gtest/gtest.h>

#include "vendor/elf_notes.h"

namespace kiln::test {

/// Makes a copy of a vendor's library one of another build: a bit of its build-id is turned over.
inline void turn_into_another_build(const std::filesystem::path& copy) {
  const auto id = vendor::build_id(copy).value();
  std::string bytes;
  for (std::size_t at = 0; at < id.size(); at += 2) {
    bytes += static_cast<char>(std::stoi(id.substr(at, 2), nullptr, 16));
  }
  std::fstream file(copy, std::ios::in | std::ios::out | std::ios::binary);
  std::string head(1 << 16, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  const auto at = head.find(bytes);
  ASSERT_NE(at, std::string::npos);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(bytes[0] ^ 1));
}

}  // namespace kiln::test
