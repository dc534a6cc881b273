#include "orchestrator/stored_row.h"

#include <utility>

namespace retort::orchestrator {

Result<storage::ResultRow> StoredRow::Read(std::string_view state) const {
  RETORT_CHECK(has_value());
  if (row_ != nullptr) return *row_;
  RETORT_ASSIGN_OR_RETURN(storage::ResultRow row, Unpack());
  if (row.state != state)
    return DamageError("journal: trial " + row.trial + " is " + std::string(state) + ", its row says " +
                       row.state);
  return row;
}

Result<storage::ResultRow> StoredRow::Unpack() const {
  std::string json;
  texts_->Expand(stored_, json);
  RETORT_ASSIGN_OR_RETURN(storage::ResultRow row, storage::DecodeRow(json));
  if (row.trial != trial_.Hex())
    return DamageError("journal: the row of trial " + trial_.Hex() + " names trial " + row.trial);
  return row;
}

const storage::ResultRow& StoredRow::operator*() const {
  if (row_ != nullptr) return *row_;
  Result<storage::ResultRow> row = Unpack();
  if (!row.ok()) {
    storage::ResultRow unreadable;
    unreadable.trial = trial_.Hex();
    unreadable.detail = row.status().message();
    row = std::move(unreadable);
  }
  row_ = std::make_shared<const storage::ResultRow>(std::move(*row));
  return *row_;
}

}  // namespace retort::orchestrator
