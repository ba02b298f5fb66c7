#include "base/error.h"

#include "base/log.h"

namespace sluice {

const char* CodeDetail::type_id() const { return "sluice::CodeDetail"; }

std::string CodeDetail::ToString() const { return std::string(NameOf(code_)); }

Status MakeError(ErrorCode code, std::string message) {
  return Status(arrow::StatusCode::Invalid, std::move(message), std::make_shared<CodeDetail>(code));
}

ErrorCode CodeOf(const Status& status) {
  if (status.ok()) return ErrorCode::kNone;
  const auto* detail = dynamic_cast<const CodeDetail*>(status.detail().get());
  return detail == nullptr ? ErrorCode::kUnknownServer : detail->code();
}

std::string_view NameOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUnknownServer:
      return "UNKNOWN_SERVER";
    case ErrorCode::kNone:
      return "NONE";
    case ErrorCode::kNetwork:
      return "NETWORK";
    case ErrorCode::kUnsupportedVersion:
      return "UNSUPPORTED_VERSION";
    case ErrorCode::kCorruptMessage:
      return "CORRUPT_MESSAGE";
    case ErrorCode::kDatabaseNotExist:
      return "DATABASE_NOT_EXIST";
    case ErrorCode::kDatabaseNotEmpty:
      return "DATABASE_NOT_EMPTY";
    case ErrorCode::kDatabaseAlreadyExist:
      return "DATABASE_ALREADY_EXIST";
    case ErrorCode::kTableNotExist:
      return "TABLE_NOT_EXIST";
    case ErrorCode::kTableAlreadyExist:
      return "TABLE_ALREADY_EXIST";
    case ErrorCode::kSchemaNotExist:
      return "SCHEMA_NOT_EXIST";
    case ErrorCode::kLogStorage:
      return "LOG_STORAGE";
    case ErrorCode::kKvStorage:
      return "KV_STORAGE";
    case ErrorCode::kNotLeaderOrFollower:
      return "NOT_LEADER_OR_FOLLOWER";
    case ErrorCode::kRecordTooLarge:
      return "RECORD_TOO_LARGE";
    case ErrorCode::kCorruptRecord:
      return "CORRUPT_RECORD";
    case ErrorCode::kInvalidTable:
      return "INVALID_TABLE";
    case ErrorCode::kInvalidDatabase:
      return "INVALID_DATABASE";
    case ErrorCode::kInvalidReplicationFactor:
      return "INVALID_REPLICATION_FACTOR";
    case ErrorCode::kInvalidRequiredAcks:
      return "INVALID_REQUIRED_ACKS";
    case ErrorCode::kLogOffsetOutOfRange:
      return "LOG_OFFSET_OUT_OF_RANGE";
    case ErrorCode::kNonPrimaryKeyTable:
      return "NON_PRIMARY_KEY_TABLE";
    case ErrorCode::kUnknownTableOrBucket:
      return "UNKNOWN_TABLE_OR_BUCKET";
    case ErrorCode::kInvalidUpdateVersion:
      return "INVALID_UPDATE_VERSION";
    case ErrorCode::kInvalidCoordinator:
      return "INVALID_COORDINATOR";
    case ErrorCode::kFencedLeaderEpoch:
      return "FENCED_LEADER_EPOCH";
    case ErrorCode::kRequestTimeOut:
      return "REQUEST_TIME_OUT";
    case ErrorCode::kStorage:
      return "STORAGE";
    case ErrorCode::kOperationNotAttempted:
      return "OPERATION_NOT_ATTEMPTED";
    case ErrorCode::kNotEnoughReplicasAfterAppend:
      return "NOT_ENOUGH_REPLICAS_AFTER_APPEND";
    case ErrorCode::kNotEnoughReplicas:
      return "NOT_ENOUGH_REPLICAS";
    case ErrorCode::kSecurityToken:
      return "SECURITY_TOKEN";
    case ErrorCode::kOutOfOrderSequence:
      return "OUT_OF_ORDER_SEQUENCE";
    case ErrorCode::kDuplicateSequence:
      return "DUPLICATE_SEQUENCE";
    case ErrorCode::kUnknownWriterId:
      return "UNKNOWN_WRITER_ID";
    case ErrorCode::kInvalidColumnProjection:
      return "INVALID_COLUMN_PROJECTION";
    case ErrorCode::kInvalidTargetColumn:
      return "INVALID_TARGET_COLUMN";
    case ErrorCode::kPartitionNotExists:
      return "PARTITION_NOT_EXISTS";
    case ErrorCode::kTableNotPartitioned:
      return "TABLE_NOT_PARTITIONED";
    case ErrorCode::kInvalidTimestamp:
      return "INVALID_TIMESTAMP";
    case ErrorCode::kInvalidConfig:
      return "INVALID_CONFIG";
    case ErrorCode::kLakeStorageNotConfigured:
      return "LAKE_STORAGE_NOT_CONFIGURED";
    case ErrorCode::kKvSnapshotNotExist:
      return "KV_SNAPSHOT_NOT_EXIST";
    case ErrorCode::kPartitionAlreadyExists:
      return "PARTITION_ALREADY_EXISTS";
    case ErrorCode::kPartitionSpecInvalid:
      return "PARTITION_SPEC_INVALID";
    case ErrorCode::kLeaderNotAvailable:
      return "LEADER_NOT_AVAILABLE";
    case ErrorCode::kPartitionMaxNum:
      return "PARTITION_MAX_NUM";
    case ErrorCode::kAuthenticate:
      return "AUTHENTICATE";
    case ErrorCode::kSecurityDisabled:
      return "SECURITY_DISABLED";
    case ErrorCode::kAuthorization:
      return "AUTHORIZATION";
    case ErrorCode::kBucketMaxNum:
      return "BUCKET_MAX_NUM";
    case ErrorCode::kFencedTieringEpoch:
      return "FENCED_TIERING_EPOCH";
    case ErrorCode::kRetriableAuthenticate:
      return "RETRIABLE_AUTHENTICATE";
    case ErrorCode::kInvalidServerRackInfo:
      return "INVALID_SERVER_RACK_INFO";
    case ErrorCode::kLakeSnapshotNotExist:
      return "LAKE_SNAPSHOT_NOT_EXIST";
    case ErrorCode::kLakeTableAlreadyExist:
      return "LAKE_TABLE_ALREADY_EXIST";
    case ErrorCode::kIneligibleReplica:
      return "INELIGIBLE_REPLICA";
    case ErrorCode::kInvalidAlterTable:
      return "INVALID_ALTER_TABLE";
    case ErrorCode::kDeletionDisabled:
      return "DELETION_DISABLED";
    case ErrorCode::kServerNotExist:
      return "SERVER_NOT_EXIST";
    case ErrorCode::kServerTagAlreadyExist:
      return "SERVER_TAG_ALREADY_EXIST";
    case ErrorCode::kServerTagNotExist:
      return "SERVER_TAG_NOT_EXIST";
    case ErrorCode::kRebalanceFailure:
      return "REBALANCE_FAILURE";
    case ErrorCode::kNoRebalanceInProgress:
      return "NO_REBALANCE_IN_PROGRESS";
    case ErrorCode::kInvalidProducerId:
      return "INVALID_PRODUCER_ID";
    case ErrorCode::kConfig:
      return "CONFIG";
    case ErrorCode::kNotCoordinatorLeader:
      return "NOT_COORDINATOR_LEADER";
    case ErrorCode::kScannerExpired:
      return "SCANNER_EXPIRED";
    case ErrorCode::kUnknownScannerId:
      return "UNKNOWN_SCANNER_ID";
    case ErrorCode::kInvalidScanRequest:
      return "INVALID_SCAN_REQUEST";
    case ErrorCode::kTooManyScanners:
      return "TOO_MANY_SCANNERS";
    case ErrorCode::kDiskWriteLocked:
      return "DISK_WRITE_LOCKED";
    case ErrorCode::kInsufficientKvCapacity:
      return "INSUFFICIENT_KV_CAPACITY";
    case ErrorCode::kStorageBackpressure:
      return "STORAGE_BACKPRESSURE";
    case ErrorCode::kHistoricalPartitionThrottled:
      return "HISTORICAL_PARTITION_THROTTLED";
  }
  return "UNKNOWN_CODE";
}

void LogIfError(const Status& status, std::string_view what) {
  if (!status.ok()) LogWarn("{}: {}", what, status.ToString());
}

}  // namespace sluice
