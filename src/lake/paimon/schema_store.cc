#include "lake/paimon/schema_store.h"

#include "lake/paimon/schema_json.h"

namespace sluice::lake::paimon {

Result<std::shared_ptr<const LakeSchema>> SchemaStore::Latest() {
  ASSIGN_OR_RAISE(const auto ids, Ids());
  if (ids.empty())
    return Error(ErrorCode::kTableNotExist, "lake table does not exist, path=", paths_.location());
  return ById(ids.back());
}

Result<std::shared_ptr<const LakeSchema>> SchemaStore::ById(int64_t id) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = known_.find(id); at != known_.end()) return at->second;
  }
  const auto text = Text(id);
  if (!text.ok() && io::IsNotFound(text.status())) {
    return Error(ErrorCode::kSchemaNotExist,
                 "lake schema does not exist, path=", paths_.Schema(id));
  }
  RETURN_NOT_OK(text.status());
  ASSIGN_OR_RAISE(LakeSchema parsed, ParseSchema(*text));
  auto schema = std::make_shared<const LakeSchema>(std::move(parsed));
  const std::lock_guard lock(mutex_);
  return known_.emplace(id, std::move(schema)).first->second;
}

Status SchemaStore::CheckInPlace(const LakeSchema& schema) const {
  const auto text = Text(schema.id);
  const bool gone = !text.ok() && io::IsNotFound(text.status());
  if (!gone) {
    RETURN_NOT_OK(text.status());
    ASSIGN_OR_RAISE(const LakeSchema found, ParseSchema(*text));
    if (SchemaToJson(found) == SchemaToJson(schema)) return Status::OK();
  }
  return Error(ErrorCode::kSchemaNotExist, "lake schema that files were written with is ",
               gone ? "gone" : "another one", ", path=", paths_.Schema(schema.id));
}

}  // namespace sluice::lake::paimon
