#include "orchestrator/journal/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/journal/recovery.h"
#include "orchestrator/results/results_view.h"
#include "tests/testing/fault_injection_env.h"
#include "tests/testing/finished_sweep.h"

namespace retort::orchestrator {
namespace {

using testing::FaultInjectionEnv;
using ::testing::HasSubstr;

constexpr int kJournalTrials = 30;

std::vector<JournalEvent> SweepEvents() {
  const auto data = testing::SmallData();
  std::vector<JournalEvent> events = {{1, SweepOpened{kResultsFormatVersion, "swept", "retort = 1\n", "{}"}}};
  PlanAdopted adopted;
  for (int i = 0; i < kJournalTrials; ++i) {
    const TrialSpec spec = testing::SweptTrial(i, data);
    events.push_back({2, MakeTrialPlanned(spec)});
    adopted.order.push_back(spec.id);
  }
  events.push_back({3, adopted});
  for (int i = 0; i < kJournalTrials; ++i)
    for (JournalEvent& event : testing::FinishedTrial(testing::SweptTrial(i, data), i))
      events.push_back(std::move(event));
  AttemptEnded failed;
  failed.attempt = {TrialId(7), 3};
  failed.for_good = false;
  failed.failure = FailureKind::out_of_memory;
  failed.detail = "last words: \xff\xfe!";
  failed.retry_at = 1.7e9;
  events.push_back({4, failed});
  events.push_back({4, TrialReopened{TrialId(7)}});
  events.push_back({4, TrialCancelled{TrialId(7)}});
  events.push_back({4, SweepInterrupted{"SIGTERM"}});
  events.push_back({4, SlotDrained{1, 2, "node1", {TrialId(7)}}});
  events.push_back({4, PackingMeasured{"node1", "cpu", "dpdfd", 2, 1.0 / 3, 1, 0.25, true, ""}});
  events.push_back({4, SlotRestored{1, 2, "node1", TrialId(7)}});
  events.push_back({4, RunStarted{"{}"}});
  return events;
}

// What a record says, whether its row is packed or not.
std::string Text(const JournalRecord& record) {
  if (const auto* event = std::get_if<JournalEvent>(&record)) return EncodeEvent(*event);
  return storage::EncodeRow(*std::get<PackedRow>(record).row);
}

std::string Text(const JournalEvent& event) {
  const auto* row = std::get_if<RowWritten>(&event.event);
  return row != nullptr ? storage::EncodeRow(row->row) : EncodeEvent(event);
}

TEST(JournalCodec, EveryEventComesBackWithEveryField) {
  JournalCodec writer, reader;
  for (const JournalEvent& event : SweepEvents()) {
    const auto type = static_cast<std::uint16_t>(FindEventType(event.event));
    const Result<JournalRecord> decoded = reader.Decode(type, writer.Encode(event));
    ASSERT_TRUE(decoded.ok()) << decoded.status().message();
    EXPECT_EQ(Text(*decoded), Text(event));
  }
}

TEST(JournalCodec, ACutOrLengthenedPayloadIsDamage) {
  JournalCodec writer;
  for (const JournalEvent& event : SweepEvents()) {
    const auto type = static_cast<std::uint16_t>(FindEventType(event.event));
    const std::string payload = JournalCodec().Encode(event);
    for (std::size_t size = 0; size < payload.size(); size += 1 + payload.size() / 200)
      EXPECT_EQ(JournalCodec().Decode(type, payload.substr(0, size)).status().code(), StatusCode::damage)
          << type << " at " << size;
    EXPECT_FALSE(JournalCodec().Decode(type, payload + 'x').ok()) << type;
  }
}

TEST(JournalCodec, NoPackedPayloadEndsInAZero) {
  JournalCodec writer;
  for (const JournalEvent& event : SweepEvents()) EXPECT_NE(writer.Encode(event).back(), '\0');
}

TEST(JournalCodec, UnknownTypeAsksForTheNewerProgram) {
  EXPECT_EQ(JournalCodec().Decode(999, "{}").status().code(), StatusCode::usage);
  EXPECT_EQ(JournalCodec().Decode(999, "\x01").status().code(), StatusCode::damage);
}

TEST(JournalCodec, ARowThatDoesNotUnpackIsAnErrorWhereItIsRead) {
  auto texts = std::make_shared<storage::DeltaTextTable>();
  storage::ByteWriter bytes;
  storage::DeltaTextTable().Put(bytes, "{\"no\":\"row\"}");
  storage::ByteReader reader(bytes.bytes());
  const Result<std::string_view> stored = texts->Take(reader);
  ASSERT_TRUE(stored.ok());
  const StoredRow row(TrialId(5), texts, *stored);
  EXPECT_EQ(row.Read("succeeded").status().code(), StatusCode::damage);
  EXPECT_EQ(row->trial, TrialId(5).Hex());
  EXPECT_THAT(row->detail, HasSubstr("row"));
}

class JournalFormats : public ::testing::Test {
 protected:
  // A folder of JSON alone, as format 1 wrote it; the last eight events are of no planned trial.
  void WriteFormat1() {
    auto log = storage::RecordLog::Open(env_, GetJournalPath("results"), storage::LogKind::journal);
    ASSERT_TRUE(log.ok());
    std::vector<JournalEvent> events = SweepEvents();
    events.resize(events.size() - 8);
    std::get<SweepOpened>(events[0].event).format_version = 1;
    for (const JournalEvent& event : events)
      (*log)->Append(static_cast<std::uint16_t>(FindEventType(event.event)), EncodeEvent(event));
    ASSERT_TRUE((*log)->Sync().ok());
  }
  Result<Recovered> Recover() { return RecoverResults(env_, Settings{.results = "results", .provenance_json = "{}"}); }
  FaultInjectionEnv env_;
};

TEST_F(JournalFormats, Format1IsStillReadAndGoesOnAsTheNewest) {
  ASSERT_TRUE(env_.CreateDirectories("results").ok());
  WriteFormat1();
  std::optional<Recovered> old;
  {
    Result<Recovered> recovered = Recover();
    ASSERT_TRUE(recovered.ok()) << recovered.status().message();
    old.emplace(std::move(*recovered));
  }
  EXPECT_EQ(old->core.format_version(), 1);
  EXPECT_EQ(old->core.CountIn(TrialState::succeeded), static_cast<std::size_t>(kJournalTrials));
  const TrialSpec another = testing::SweptTrial(kJournalTrials, testing::SmallData());
  ASSERT_TRUE(old->journal
                  .Commit({{5, SweepOpened{kResultsFormatVersion, "swept", "", "{}"}},
                           {5, MakeTrialPlanned(another)},
                           {5, PlanAdopted{{another.id}}}})
                  .ok());
  old.reset();
  const Result<Recovered> recovered = Recover();
  ASSERT_TRUE(recovered.ok()) << recovered.status().message();
  EXPECT_EQ(recovered->core.format_version(), kResultsFormatVersion);
  EXPECT_EQ(recovered->core.Get(another.id).state, TrialState::queued);
}

TEST_F(JournalFormats, RowsOfBothFormatsAreReadAlike) {
  ASSERT_TRUE(env_.CreateDirectories("results").ok());
  WriteFormat1();
  const Result<ResultsView> json = ReadResults(env_, "results");
  ASSERT_TRUE(json.ok()) << json.status().message();
  ASSERT_TRUE(env_.Remove(GetJournalPath("results")).ok());
  {
    Core core(Settings{.results = "results", .provenance_json = {}});
    Result<Journal> journal = Journal::Open(env_, "results", core);
    ASSERT_TRUE(journal.ok());
    ASSERT_TRUE(testing::WriteFinishedSweep(*journal, kJournalTrials).ok());
  }
  const Result<ResultsView> packed = ReadResults(env_, "results");
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  ASSERT_EQ(packed->trials.size(), json->trials.size());
  for (std::size_t i = 0; i < packed->trials.size(); ++i) {
    EXPECT_EQ(EncodeTrialSpec(packed->trials[i].spec), EncodeTrialSpec(json->trials[i].spec));
    EXPECT_EQ(storage::EncodeRow(*packed->trials[i].row), storage::EncodeRow(*json->trials[i].row));
  }
}

}  // namespace
}  // namespace retort::orchestrator
