#include "orchestrator/core/outbox.h"

#include <utility>

namespace retort::orchestrator {

void Record(Core& core, Event event, Now now, Outbox& outbox) {
  JournalEvent recorded{now.unix_seconds, std::move(event)};
  const Status applied = core.Apply(recorded);
  if (!applied.ok()) CheckFailed("an event of our own is legal", __FILE__, __LINE__, applied.message());
  outbox.journal.push_back(std::move(recorded));
}

void Send(Outbox& outbox, WorldRank to, cluster::Message message, AttemptId attempt, Generation generation) {
  outbox.messages.push_back({to, {attempt, generation, 0, std::move(message)}});
}

}  // namespace retort::orchestrator
