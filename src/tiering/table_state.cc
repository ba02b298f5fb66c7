#include "tiering/table_state.h"

namespace sluice::tiering {

std::string_view NameOf(State state) {
  switch (state) {
    case State::kScheduled:
      return "SCHEDULED";
    case State::kPending:
      return "PENDING";
    case State::kTiering:
      return "TIERING";
    case State::kTiered:
      return "TIERED";
    case State::kFailed:
      return "FAILED";
  }
  return "UNKNOWN";
}

}  // namespace sluice::tiering
