// What a run writes beside its logs, and what it does not where its trials were drawn by a private selection.
#include "orchestrator/service/publication.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "storage/files/temporary_folder.h"

namespace retort::orchestrator {
namespace {

std::vector<std::string> NamesAfterARun(bool hidden) {
  const storage::TemporaryFolder folder =
      storage::TemporaryFolder::For(::testing::TempDir() + "retort-publication").value();
  Settings settings;
  settings.results = folder.path();
  settings.hidden = hidden;
  Core core(settings);
  EXPECT_TRUE(core.Apply({1, SweepOpened{kResultsFormatVersion, "chosen", "", "{}"}}).ok());
  Publication publication(storage::PosixEnv(), nullptr);
  publication.RowsChanged();
  EXPECT_EQ(publication.Tick(core, {}, {}, {1000, 1.7e9}), "");
  EXPECT_GT(publication.NextDeadline(), 1000);
  publication.RowsChanged();
  EXPECT_TRUE(publication.Finish(core, {}, {}, {1001, 1.7e9}).ok());
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Publication, WritesRowsAndMetrics) {
  EXPECT_EQ(NamesAfterARun(false), (std::vector<std::string>{"metrics.prom", "results.h5"}));
}

TEST(Publication, WritesNothingOfHiddenTrials) { EXPECT_EQ(NamesAfterARun(true), std::vector<std::string>()); }

}  // namespace
}  // namespace retort::orchestrator
