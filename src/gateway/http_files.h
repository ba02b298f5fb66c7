#pragma once
#include <string>
#include <string_view>

#include "gateway/http_server.h"

namespace sluice::gateway {

/// The file that `path` names below `folder`; "/" is index.html. 404 for what is not there and for
/// paths that lead out of the folder.
HttpResponse FileResponse(const std::string& folder, std::string_view path);

}  // namespace sluice::gateway
