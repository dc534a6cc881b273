// The members of a bundle that follow from its rows: who wrote them and who reviews them compute the same bytes.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"
#include "orchestrator/results/bundle.h"
#include "orchestrator/results/verify.h"
#include "storage/files/env.h"

namespace retort::orchestrator::cli {

inline constexpr std::string_view kBundledRows = "archive.rows";            // what `retort archive` writes
inline constexpr std::string_view kBundledEnvironment = "environment.txt";  // what `retort version --verbose` says
inline constexpr std::string_view kBundledStudents = "students/";           // NAME.safetensors below it

struct DerivedMembers {
  std::vector<BundleMember> members;  // sweep.toml, archive.rows, claims.json, ledger.json
  std::set<std::string> students;     // names of the members that students of these rows would have
  VerifyReport report;                // of the results folder that the rows give
  std::size_t rows = 0, claims = 0;
};

// Of the text of an archive of rows; `name` stands in errors. Error: as DecodeArchive and ImportArchive.
[[nodiscard]] Result<DerivedMembers> DeriveMembers(storage::Env& env, const std::string& rows, const std::string& name);

// "students/dpsgd-digits-s0-0123abcd.safetensors" for a name as FormatTrialName gives it. A name that is too long for a
// member is cut before the digits of the id.
[[nodiscard]] std::string FormatStudentMember(const std::string& trial_name);

}  // namespace retort::orchestrator::cli
