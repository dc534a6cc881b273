#include "experiments/spec/side_information.h"

#include <algorithm>

#include "experiments/spec/networks.h"

namespace retort {
namespace {

bool HasFrozenFeatures(const TrialSpec& spec) {
  const NamedNetwork* network = FindNetwork(spec.network);
  return network != nullptr && network->frozen;
}

// Released labels are shared among public pictures that are alike by oriented gradients.
bool SharesLabels(const TrialSpec& student) {
  return student.source == QuerySource::public_split && student.neighbours > 0;
}

}  // namespace

std::string SideInformation(const TrialSpec& student, const TrialSpec* teacher) {
  const bool labels = teacher != nullptr && teacher->trained_on != TrainedOn::private_split;
  const bool known = student.source == QuerySource::procedural || SharesLabels(student) || HasFrozenFeatures(student) ||
                     (teacher != nullptr && HasFrozenFeatures(*teacher));
  std::string all;
  const auto add = [&all](const char* what) { all += (all.empty() ? "" : ", ") + std::string(what); };
  if (labels) add("public examples");
  if (ShowsPublicPictures(student.source)) add("public pictures");
  if (SharesLabels(student) && student.balance) add("class shares");
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
