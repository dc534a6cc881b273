// The readers of single formats. Errors as of OpenExamples. One source file defines each; ReadIdxSet is in
// example_store.cc.
#pragma once

#include "storage/datasets/example_store.h"

namespace retort::storage {

// idx, by idx_file.h: part "train" of the train pair, "test" of the t10k pair.
[[nodiscard]] Result<ExampleSet> ReadIdxSet(Env& env, const DataSpec& data);
// cifar10 and cifar100 (target "fine" or "coarse"): binary or python version, packed or not.
[[nodiscard]] Result<ExampleSet> ReadCifar(Env& env, const DataSpec& data);
// MATLAB files of version 5 to 7; label 10 is the digit 0.
[[nodiscard]] Result<ExampleSet> ReadSvhn(Env& env, const DataSpec& data);
[[nodiscard]] Result<ExampleSet> ReadMedMnist(Env& env, const DataSpec& data);
// target "gender": 0 female, 1 male. "hair": 0 black, 1 blond, 2 brown; images with none of these, or with
// several, are left out and counted.
[[nodiscard]] Result<ExampleSet> ReadCelebA(Env& env, const DataSpec& data);
[[nodiscard]] Result<ExampleSet> ReadCovidx(Env& env, const DataSpec& data);
// Classes in the order of their WNIDs, or as class-index.csv says.
[[nodiscard]] Result<ExampleSet> ReadImageNet(Env& env, const DataSpec& data);
[[nodiscard]] Result<ExampleSet> ReadTinyImageNet(Env& env, const DataSpec& data);
[[nodiscard]] Result<ExampleSet> ReadImageFolders(Env& env, const DataSpec& data);

}  // namespace retort::storage
