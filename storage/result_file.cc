#include "storage/result_file.h"

#include <algorithm>
#include <utility>

#include "storage/account_tables.h"
#include "storage/curves.h"
#include "storage/file_seal.h"
#include "storage/format_version.h"
#include "storage/hdf5_reader.h"
#include "storage/hdf5_writer.h"
#include "storage/quantities.h"
#include "storage/row_table.h"
#include "storage/sealed_hdf5.h"
#include "storage/within_memory.h"

namespace retort::storage {
namespace {

Table AllClaims(const std::vector<ResultRow>& rows) {
  std::vector<privacy::Claim> claims;
  std::vector<std::string> trials;
  for (const ResultRow& row : rows) {
    claims.insert(claims.end(), row.claims.begin(), row.claims.end());
    trials.resize(claims.size(), row.trial);
  }
  Table table = ClaimTable(claims, trials);
  if (trials.empty()) table.insert(table.begin(), {"trial", std::vector<std::string>()});
  return table;
}

Result<Curves> CurvesOf(const std::string& attempt_path) {
  RETORT_ASSIGN_OR_RETURN(const Hdf5Reader reader, OpenSealedHdf5(attempt_path));
  return ReadCurves(reader, "/curves");
}

// An attempt that cannot be read leaves an empty group that says why: the view is published all the same.
void CopyCurves(Hdf5Writer& writer, const std::string& results_directory, const ResultRow& row) {
  const std::string trial = row.name + "-" + row.trial;
  const Result<Curves> read = CurvesOf(results_directory + "/" + row.attempt_file);
  if (!read.ok()) {
    writer.Group("/curves/" + trial);
    writer.Attribute("/curves/" + trial, "missing", read.status().message());
    return;
  }
  Curves results, timings;
  for (const auto& [name, points] : *read) (IsTiming(name) ? timings : results)[name] = points;
  WriteCurves(writer, "/curves/" + trial, results);
  if (!timings.empty()) WriteCurves(writer, "/provenance/curves/" + trial, timings);
}

void WriteTables(Hdf5Writer& writer, const std::vector<ResultRow>& rows,
                 const std::vector<LedgerEntry>& ledger) {
  const Table results = RowTable(rows), claims = AllClaims(rows);
  writer.CompoundTable("/rows", results);
  writer.CompoundTable("/claims", claims);
  writer.CompoundTable("/ledger", LedgerTable(ledger));
  writer.CompoundTable("/provenance/trials", ProvenanceTable(rows));
  writer.CompoundTable("/provenance/timings", TimingTable(rows));
  Describe(writer, "/rows",
           {"the result of each trial that has ended: what it was, its metrics, its axes", ""});
  Describe(writer, "/claims",
           {"every epsilon of every trial: what it protects, at which delta, by which accountant", ""});
  DescribeColumns(writer, "/rows", results);
  DescribeColumns(writer, "/claims", claims);
  Describe(writer, "/ledger", {"every reservation of releases, and what was used of it", ""});
  Describe(writer, "/provenance/trials", {"the specification of each trial, and what it ran on", ""});
  Describe(writer, "/provenance/timings", {"of each trial: wall-clock times in s, energy_joules in J", ""});
}

}  // namespace

Status WriteResultFile(Env& env, const std::string& results_directory, const std::string& sweep,
                       const std::vector<ResultRow>& rows, const std::vector<LedgerEntry>& ledger) {
  const std::string path = results_directory + "/results.h5";
  Hdf5Writer writer(path);
  writer.Attribute("/", "Conventions", std::string_view(kConventions));
  writer.Attribute("/", "sweep", sweep);
  writer.Attribute(
      "/", "history",
      std::string_view("derived by retort from journal.log, ledger.log and the trials beside it, and "
                       "again whenever a trial ends; may be deleted"));
  WriteTables(writer, rows, ledger);
  writer.Group("/curves");
  writer.Group("/attempts");
  for (const ResultRow& row : rows) {
    if (row.attempt_file.empty()) continue;
    CopyCurves(writer, results_directory, row);
    writer.ExternalLink("/attempts/" + row.trial, row.attempt_file, "/");
  }
  RETORT_ASSIGN_OR_RETURN(std::string image, writer.Finish());
  image += SealOf(image);
  return env.WriteFileAtomically(path, image);
}

namespace {

Result<std::map<std::string, std::vector<privacy::Claim>>> ClaimsIn(const std::string& results_directory) {
  RETORT_ASSIGN_OR_RETURN(const Hdf5Reader reader,
                          Hdf5Reader::OpenResultFile(results_directory + "/results.h5"));
  RETORT_ASSIGN_OR_RETURN(const Table table, reader.CompoundTable("/claims"));
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> trials, ColumnOf<std::string>(table, "trial"));
  RETORT_ASSIGN_OR_RETURN(const std::vector<privacy::Claim> claims, ClaimsFrom(table));
  if (trials.size() != claims.size()) return DamageError("Columns of /claims have different lengths.");
  std::map<std::string, std::vector<privacy::Claim>> shown;
  for (std::size_t i = 0; i < claims.size(); ++i) shown[trials[i]].push_back(claims[i]);
  return shown;
}

Status TablesIn(const std::string& results_directory) {
  RETORT_ASSIGN_OR_RETURN(const Hdf5Reader reader,
                          Hdf5Reader::OpenResultFile(results_directory + "/results.h5"));
  for (const char* table : {"/rows", "/claims", "/ledger"})
    RETORT_RETURN_IF_ERROR(reader.CompoundTable(table).status());
  return {};
}

}  // namespace

Status CheckResultFile(const std::string& results_directory) {
  return WithinMemory("'" + results_directory + "/results.h5'", [&] { return TablesIn(results_directory); });
}

Result<std::map<std::string, std::vector<privacy::Claim>>> ReadShownClaims(
    const std::string& results_directory) {
  return WithinMemory("'" + results_directory + "/results.h5'", [&] { return ClaimsIn(results_directory); });
}

}  // namespace retort::storage
