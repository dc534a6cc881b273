// The row of a trial as the orchestrator keeps it: composed in this run, or packed as the journal has it,
// since a sweep of a hundred thousand rows is opened far more often than its rows are read.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "experiments/spec/ids.h"
#include "experiments/spec/status.h"
#include "storage/result_file.h"
#include "storage/text_table.h"

namespace retort::orchestrator {

// Copies share the row. Not thread-safe.
class StoredRow {
 public:
  StoredRow() = default;  // no row
  explicit StoredRow(storage::ResultRow row)
      : row_(std::make_shared<const storage::ResultRow>(std::move(row))) {}
  // `stored` comes from `texts`->Take and expands to EncodeRow's JSON.
  StoredRow(TrialId trial, std::shared_ptr<const storage::TextTable> texts, std::string_view stored)
      : trial_(trial), texts_(std::move(texts)), stored_(stored) {}

  [[nodiscard]] bool has_value() const { return row_ != nullptr || texts_ != nullptr; }
  [[nodiscard]] explicit operator bool() const { return has_value(); }
  void reset() { *this = {}; }

  // A packed row is unpacked and not kept. Error: damage, for a packed row that is none, or of another trial
  // or another `state` than its trial has. There must be a row.
  [[nodiscard]] Result<storage::ResultRow> Read(std::string_view state) const;
  // Unpacked at the first use and kept. A row that cannot be read has no field but its trial and, in
  // `detail`, the reason.
  [[nodiscard]] const storage::ResultRow& operator*() const;
  [[nodiscard]] const storage::ResultRow* operator->() const { return &**this; }

 private:
  TrialId trial_;
  std::shared_ptr<const storage::TextTable> texts_;
  std::string stored_;
  [[nodiscard]] Result<storage::ResultRow> Unpack() const;
  mutable std::shared_ptr<const storage::ResultRow> row_;
};

}  // namespace retort::orchestrator
