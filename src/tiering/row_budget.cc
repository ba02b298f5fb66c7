#include "tiering/row_budget.h"

#include <utility>

namespace sluice::tiering {

bool RowBudget::Part::Hold(int64_t bytes) {
  const int64_t more = bytes - std::exchange(bytes_, bytes);
  return budget_.used_bytes_.fetch_add(more) + more < budget_.bytes_max_;
}

}  // namespace sluice::tiering
