#include "sim/planted_workload.h"

#include "base/check.h"

namespace sluice::sim {
namespace {

constexpr char kPlantedFile[] = "/records";
constexpr size_t kRecordBytes = 8;
constexpr uint64_t kUnsyncedEvery = 20;  // The planted fault.

class PlantedWorkload : public Workload {
 public:
  explicit PlantedWorkload(PlantedFault fault) : fault_(fault) {}

  Status Open(Machine& machine) override {
    ASSIGN_OR_RAISE(file_, machine.files.Open(kPlantedFile, io::FileSystem::Mode::kCreate));
    ASSIGN_OR_RAISE(const auto stat, machine.files.Stat(kPlantedFile));
    found_ = stat.size_bytes / kRecordBytes;
    RETURN_NOT_OK(file_->Truncate(found_ * kRecordBytes));  // Half a record was never acknowledged.
    RETURN_NOT_OK(file_->Sync());
    return machine.files.SyncFolder("/");
  }
  void Drop() override { file_.reset(); }

  Status Step(Machine& machine) override {
    RETURN_NOT_OK(file_->Append(std::string(kRecordBytes, 'x')));
    if (!machine.OneIn(kUnsyncedEvery)) RETURN_NOT_OK(file_->Sync());
    ++acknowledged_;
    return Status::OK();
  }

  Status Check(Machine&, Stop) override {
    if (fault_ == PlantedFault::kCheck) CHECK(found_ >= acknowledged_);
    if (found_ < acknowledged_) return Broken(acknowledged_, " were acknowledged, found ", found_);
    acknowledged_ = found_;
    return Status::OK();
  }

 private:
  const PlantedFault fault_;
  std::unique_ptr<io::File> file_;
  uint64_t found_ = 0;         // Records at the last opening.
  uint64_t acknowledged_ = 0;  // Records that have to be there.
};

}  // namespace

std::unique_ptr<Workload> MakePlantedWorkload(PlantedFault fault) {
  return std::make_unique<PlantedWorkload>(fault);
}

}  // namespace sluice::sim
