#include "tiering/log_gap.h"

#include <sstream>

namespace sluice::tiering {

void AddGap(LogGap gap, std::vector<LogGap>* gaps) {
  gaps->push_back(std::move(gap));
  if (gaps->size() > kGapsMax)
    gaps->erase(gaps->begin(), gaps->end() - static_cast<std::ptrdiff_t>(kGapsMax));
}

std::string GapsToText(const std::vector<LogGap>& gaps) {
  std::ostringstream text;
  const size_t first = gaps.size() > kGapsMax ? gaps.size() - kGapsMax : 0;
  for (size_t i = first; i < gaps.size(); ++i) {
    text << gaps[i].bucket << ' ' << gaps[i].from << ' ' << gaps[i].to << ' ' << gaps[i].partition
         << '\n';
  }
  return text.str();
}

Result<std::vector<LogGap>> GapsFromText(std::string_view text) {
  std::vector<LogGap> gaps;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    LogGap gap;
    if (!(fields >> gap.bucket >> gap.from >> gap.to))
      return Corrupt("record of a log gap cannot be read line=", line);
    fields.ignore(1);
    std::getline(fields, gap.partition);
    gaps.push_back(std::move(gap));
  }
  return gaps;
}

}  // namespace sluice::tiering
