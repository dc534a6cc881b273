#include "storage/data/data_check.h"

#include <utility>

#include "storage/data/picture_scan.h"
#include "storage/data/unread_files.h"

namespace retort::storage {
namespace {

constexpr std::size_t kMostNamed = 1000;

void CountClasses(const ExampleStore& store, DataReport& report) {
  report.class_counts.assign(static_cast<std::size_t>(store.classes()), 0);
  for (const std::int64_t label : store.labels()) ++report.class_counts[static_cast<std::size_t>(label)];
  report.class_names = store.class_names();
  for (std::size_t i = report.class_names.size(); i < report.class_counts.size(); ++i)
    report.class_names.push_back(std::to_string(i));
}

void CheckPictures(const ExampleStore& store, DataReport& report) {
  std::int64_t clipped = 0;
  for (std::int64_t i = 0; i < store.size(); ++i) {
    const Result<std::string> bytes = store.Read(i);
    if (bytes.ok() && IsWideGrey(*bytes) && ClippedShare(store.Where(i), *bytes) > kMuchClipped) ++clipped;
    const Status whole = bytes.ok() ? CheckPicture(store.Where(i), *bytes) : bytes.status();
    if (whole.ok()) continue;
    if (report.damaged_in_all++ < kMostNamed) report.damaged.push_back(whole.message());
  }
  if (clipped > 0)
    report.warnings.push_back(std::to_string(clipped) +
                              " pictures of 16-bit grey have more than 1 % of their pixels above 255, where they are "
                              "clipped, as Pillow does; scale them to 8 bits.");
}

}  // namespace

Result<DataReport> CheckData(Env& env, const DataSpec& data, const DigestCache& cache) {
  RETORT_ASSIGN_OR_RETURN(const auto store, OpenExamples(env, data));
  DataReport report;
  report.examples = store->size();
  report.classes = store->classes();
  report.channels = store->channels();
  report.height = store->height();
  report.width = store->width();
  report.encoded = store->encoded();
  report.parts = store->parts();
  report.sources = store->set().sources;
  report.findings = store->set().findings;
  report.warnings = store->set().warnings;
  CountClasses(*store, report);
  if (store->encoded()) CheckPictures(*store, report);
  RETORT_ASSIGN_OR_RETURN(report.digests, DigestsOf(env, data, *store, {cache.folder, false}));
  report.known = CompareKnownFiles(env, data.reader, data.path);
  return report;
}

}  // namespace retort::storage
