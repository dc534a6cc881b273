#include "experiments/spec/side_information.h"

#include <algorithm>

#include "experiments/spec/networks.h"
#include "experiments/spec/spec_keys.h"
#include "experiments/spec/trial_kind.h"

namespace retort {
namespace {

bool HasFrozenFeatures(const TrialSpec& spec) {
  return std::any_of(kNamedNetworks.begin(), kNamedNetworks.end(), [&](const NamedNetwork& network) {
    return network.frozen && network.name == spec.network;
  });
}

bool Asks(const TrialSpec& student, QuerySource source) {
  if (KindOf(student) == TrialKind::query_student) return source == QuerySource::public_split;
  const SpecKey* key = FindKey("source", kNowhere);
  return key->AppliesTo(KindOf(student), student.source) && student.source == source;
}

}  // namespace

std::string SideInformation(const TrialSpec& student, const TrialSpec* teacher) {
  const bool taught = teacher != nullptr;
  const bool labels = taught && KindOf(*teacher) == TrialKind::plain_teacher &&
                      teacher->trained_on == TrainedOn::public_split;
  const bool known = Asks(student, QuerySource::procedural) || HasFrozenFeatures(student) ||
                     (taught && HasFrozenFeatures(*teacher));
  std::string all;
  const auto add = [&all](const char* what) { all += (all.empty() ? "" : ", ") + std::string(what); };
  if (labels) add("public examples");
  if (Asks(student, QuerySource::public_split)) add("public pictures");
  if (known) add("domain knowledge");
  return all.empty() ? "none" : all;
}

bool TellsSideInformation(const std::vector<TableSpec>& tables) {
  const auto among = [](const std::vector<std::string>& keys) {
    return std::find(keys.begin(), keys.end(), kSideInformationKey) != keys.end();
  };
  return std::any_of(tables.begin(), tables.end(),
                     [&](const TableSpec& table) { return among(table.rows) || among(table.columns); });
}

}  // namespace retort
