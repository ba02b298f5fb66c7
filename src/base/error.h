#pragma once
#include <arrow/result.h>
#include <arrow/status.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace sluice {

using arrow::Result;
using arrow::Status;

/// Error codes of the Fluss protocol; they ride on a Status as its detail.
///
/// Source: Errors of the Java server (codes 0 to 73; 74 belongs to 1.0.0 and is never sent).
enum class ErrorCode : int32_t {
  kUnknownServer = -1,
  kNone = 0,
  kNetwork = 1,
  kUnsupportedVersion = 2,
  kCorruptMessage = 3,
  kDatabaseNotExist = 4,
  kDatabaseNotEmpty = 5,
  kDatabaseAlreadyExist = 6,
  kTableNotExist = 7,
  kTableAlreadyExist = 8,
  kSchemaNotExist = 9,
  kLogStorage = 10,
  kKvStorage = 11,
  kNotLeaderOrFollower = 12,
  kRecordTooLarge = 13,
  kCorruptRecord = 14,
  kInvalidTable = 15,
  kInvalidDatabase = 16,
  kInvalidReplicationFactor = 17,
  kInvalidRequiredAcks = 18,
  kLogOffsetOutOfRange = 19,
  kNonPrimaryKeyTable = 20,
  kUnknownTableOrBucket = 21,
  kInvalidUpdateVersion = 22,
  kInvalidCoordinator = 23,
  kFencedLeaderEpoch = 24,
  kRequestTimeOut = 25,
  kStorage = 26,
  kOperationNotAttempted = 27,
  kNotEnoughReplicasAfterAppend = 28,
  kNotEnoughReplicas = 29,
  kSecurityToken = 30,
  kOutOfOrderSequence = 31,
  kDuplicateSequence = 32,
  kUnknownWriterId = 33,
  kInvalidColumnProjection = 34,
  kInvalidTargetColumn = 35,
  kPartitionNotExists = 36,
  kTableNotPartitioned = 37,
  kInvalidTimestamp = 38,
  kInvalidConfig = 39,
  kLakeStorageNotConfigured = 40,
  kKvSnapshotNotExist = 41,
  kPartitionAlreadyExists = 42,
  kPartitionSpecInvalid = 43,
  kLeaderNotAvailable = 44,
  kPartitionMaxNum = 45,
  kAuthenticate = 46,
  kSecurityDisabled = 47,
  kAuthorization = 48,
  kBucketMaxNum = 49,
  kFencedTieringEpoch = 50,
  kRetriableAuthenticate = 51,
  kInvalidServerRackInfo = 52,
  kLakeSnapshotNotExist = 53,
  kLakeTableAlreadyExist = 54,
  kIneligibleReplica = 55,
  kInvalidAlterTable = 56,
  kDeletionDisabled = 57,
  kServerNotExist = 58,
  kServerTagAlreadyExist = 59,
  kServerTagNotExist = 60,
  kRebalanceFailure = 61,
  kNoRebalanceInProgress = 62,
  kInvalidProducerId = 63,
  kConfig = 64,
  kNotCoordinatorLeader = 65,
  kScannerExpired = 66,
  kUnknownScannerId = 67,
  kInvalidScanRequest = 68,
  kTooManyScanners = 69,
  kDiskWriteLocked = 70,
  kInsufficientKvCapacity = 71,
  kStorageBackpressure = 72,
  kHistoricalPartitionThrottled = 73,
};

/// The protocol error code that a Status carries.
class CodeDetail : public arrow::StatusDetail {
 public:
  explicit CodeDetail(ErrorCode code) : code_(code) {}
  const char* type_id() const override;
  std::string ToString() const override;
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

/// Make a Status with a protocol code. Arguments are streamed one after another: fixed words, then
/// `name=`, value.
Status MakeError(ErrorCode code, std::string message);
template <typename... Args>
Status Error(ErrorCode code, Args&&... args) {
  return MakeError(code, Status::Invalid(std::forward<Args>(args)...).message());
}

/// Bytes that came from outside (a disk, a peer, another program's file) break their format.
template <typename... Args>
Status Corrupt(Args&&... args) {
  return Error(ErrorCode::kCorruptRecord, std::forward<Args>(args)...);
}

/// Code of `status`: kNone when ok, its detail, else kUnknownServer.
ErrorCode CodeOf(const Status& status);

/// Name of a code as the protocol's documents spell it, without the _EXCEPTION ending.
std::string_view NameOf(ErrorCode code);

/// Write a WARN line when `status` is an error whose loss is right here.
void LogIfError(const Status& status, std::string_view what);

}  // namespace sluice

// Short form of Arrow's macro; RETURN_NOT_OK comes with arrow/status.h.
#define ASSIGN_OR_RAISE(lhs, rexpr) ARROW_ASSIGN_OR_RAISE(lhs, rexpr)
// The same inside a coroutine that returns Result<T> or Status.
#define CO_RETURN_NOT_OK(expr)                                \
  do {                                                        \
    ::arrow::Status sluice_status_ = ::arrow::ToStatus(expr); \
    if (!sluice_status_.ok()) co_return sluice_status_;       \
  } while (false)
#define SLUICE_CONCAT_(a, b) a##b
#define SLUICE_CONCAT(a, b) SLUICE_CONCAT_(a, b)
#define CO_ASSIGN_OR_RETURN(lhs, rexpr) \
  CO_ASSIGN_OR_RETURN_(SLUICE_CONCAT(sluice_result_, __COUNTER__), lhs, rexpr)
#define CO_ASSIGN_OR_RETURN_(result, lhs, rexpr) \
  auto&& result = (rexpr);                       \
  if (!result.ok()) co_return result.status();   \
  lhs = std::move(result).ValueUnsafe()
