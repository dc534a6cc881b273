// What the ledger of a folder that is read has charged, as totals and budgets count it.
#pragma once

#include "orchestrator/charge_book.h"
#include "orchestrator/results_view.h"

namespace retort::orchestrator {

// Everything in the ledger of `view`, by its own digests of data sets.
[[nodiscard]] ChargeBook ChargesIn(const ResultsView& view);
// What counts of it: as CountsOf a core (row.h), for a view that WithdrawRefuted has seen. Borrows both.
[[nodiscard]] ChargeBook::Counts CountsOf(const ResultsView& view, const ChargeBook& charges);

}  // namespace retort::orchestrator
