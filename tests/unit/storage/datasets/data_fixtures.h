// Data sets that make.py in tests/fixtures/data wrote, and copies of them that a test may spoil.
#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

#include "experiments/methods/data_spec.h"
#include "storage/datasets/data_inspection.h"
#include "tests/testing/temporary_directory.h"

namespace retort::storage {

inline std::string Fixture(const std::string& name) {
  return std::string(RETORT_SOURCE_DIR) + "/tests/fixtures/data/" + name;
}

inline std::string Bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A sound JPEG.
inline std::string Jpeg() {
  return Bytes(std::string(RETORT_SOURCE_DIR) + "/tests/fixtures/folders/living/n01820546/n01820546_lorikeet.jpg");
}

inline void Write(const std::string& path, const std::string& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

inline DataSpec SpecFor(const std::string& reader, const std::string& path, const std::string& target = "") {
  DataSpec data;
  data.name = "set";
  data.reader = reader;
  data.path = path;
  const DataReader* known = FindDataReader(reader);
  data.classes = known == nullptr ? 0 : known->classes;
  if (reader != "idx") data.height = data.width = 0;
  if (known != nullptr && !known->targets.empty()) data.target = known->targets.front();
  if (known != nullptr && !known->versions.empty()) data.version = known->versions.front();
  if (!target.empty()) data.target = target;
  return data;
}

inline std::string Problem(const std::string& reader, const std::string& path, const std::string& target = "") {
  return OpenExamples(PosixEnv(), SpecFor(reader, path, target)).status().message();
}

}  // namespace retort::storage
