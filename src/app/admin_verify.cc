#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/admin.h"
#include "app/command_line.h"
#include "app/data_folder_check.h"
#include "app/visible_text.h"
#include "base/json_text.h"
#include "io/file.h"

namespace sluice::app {
namespace {

using Json = nlohmann::ordered_json;

const char* KindName(log::Finding::Kind kind) {
  return kind == log::Finding::Kind::kDamage ? "damage" : "note";
}

Json ToJson(const DataFolderCheck& check) {
  Json findings = Json::array();
  for (const log::Finding& finding : check.findings) {
    Json entry = {{"kind", KindName(finding.kind)}, {"file", finding.file}};
    if (finding.offset) entry["offset"] = *finding.offset;
    entry["text"] = finding.text;
    findings.push_back(std::move(entry));
  }
  return {{"findings", std::move(findings)},
          {"clean_stop", check.clean_stop},
          {"tables", check.tables},
          {"partitions", check.partitions},
          {"buckets", check.buckets},
          {"segments", check.segments},
          {"batches", check.batches},
          {"records", check.records},
          {"log_bytes", check.log_bytes},
          {"key_stores", check.key_stores},
          {"keys", check.keys},
          {"damaged", check.damaged()}};
}

void Print(const DataFolderCheck& check) {
  size_t damages = 0, notes = 0;
  for (const log::Finding& finding : check.findings) {
    ++(finding.kind == log::Finding::Kind::kDamage ? damages : notes);
    std::string line = std::string(KindName(finding.kind)) + " file=" + finding.file;
    if (finding.offset) line += " offset=" + std::to_string(*finding.offset);
    std::printf("%s: %s\n", VisibleText(line).c_str(), VisibleText(finding.text).c_str());
  }
  std::printf(
      "%llu tables, %llu partitions, %llu buckets, %llu segments, %llu batches, %llu records, "
      "%llu bytes of log, %llu key stores with %llu keys; last stop %s\n",
      static_cast<unsigned long long>(check.tables),
      static_cast<unsigned long long>(check.partitions),
      static_cast<unsigned long long>(check.buckets),
      static_cast<unsigned long long>(check.segments),
      static_cast<unsigned long long>(check.batches),
      static_cast<unsigned long long>(check.records),
      static_cast<unsigned long long>(check.log_bytes),
      static_cast<unsigned long long>(check.key_stores),
      static_cast<unsigned long long>(check.keys), check.clean_stop ? "clean" : "not clean");
  std::printf("%zu damaged, %zu notes\n", damages, notes);
}

}  // namespace

int VerifyMain(const std::vector<std::string>& arguments) {
  CLI::App parser(
      "Check the data folder of a server that does not run: metadata, logs, indexes, keys. Changes "
      "nothing. The exit code is 1 when something is damaged.",
      "sluice admin verify");
  std::string folder;
  bool as_json = false;
  parser.add_option("DATA_DIR", folder, "The folder, as data.dir names it")->required();
  parser.add_flag("--json", as_json, "Print one JSON document");
  if (const auto answered = ParseCommandLine(arguments, &parser)) return *answered;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  const auto check = CheckDataFolder(io::LocalFileSystem(), folder);
  if (!check.ok()) {
    std::fprintf(stderr, "sluice admin verify: %s\n",
                 VisibleText(check.status().message()).c_str());
    return 1;
  }
  if (as_json) {
    std::printf("%s\n", JsonText(ToJson(*check), 2).c_str());
  } else {
    Print(*check);
  }
  return check->damaged() ? 1 : 0;
}

}  // namespace sluice::app
