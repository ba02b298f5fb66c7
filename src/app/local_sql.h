#pragma once
#include <functional>
#include <memory>
#include <string>

#include "app/client_options.h"
#include "app/sql_runner.h"

namespace sluice::app {

/// A session whose engine runs in this process and reaches a cluster by its protocol: ours, or any
/// other that speaks it.
///
/// Views live as long as the session. The lake is the one that the cluster tells of.
class LocalSql : public SqlRunner {
 public:
  struct Options {
    std::string bootstrap_servers;      ///< "host:port,host:port"
    ClientOptions client;               ///< How to log in.
    std::function<bool()> interrupted;  ///< Asked while a statement runs, from another thread.
  };

  /// Errors: kNetwork when nobody answers; kInvalidConfig for an address that is
  /// none, and wrong settings of the client; kAuthenticate.
  static Result<std::unique_ptr<LocalSql>> Connect(Options options);
  ~LocalSql() override;

  Status Run(const std::string& sql, const OnEvent& on_event) override;
  /// Why the cluster's lake cannot be read from here, so that reads of tables that are in it fail;
  /// OK when it can, or there is none.
  const Status& lake_status() const;

 private:
  struct State;
  explicit LocalSql(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sluice::app
