#pragma once
// How a verb ends. The numbers are the exit statuses of the command, a contract with scripts.

#include <string>

#include <tl/expected.hpp>

namespace ratchet::cli {

enum class ExitStatus {
  done = 0,
  ended_otherwise = 1,  ///< the run did not end by a final answer; or the server could not do it
  usage = 2,            ///< the command, a file or a request is wrong as it stands
  denied = 3,
  not_found = 4,
  unreachable = 5,  ///< no server there, or one that is starting or stopping
};

struct Failure {
  ExitStatus status = ExitStatus::usage;
  std::string text;       ///< for people
  std::string body = {};  ///< what the API said, where it did
};

template <class T>
using Outcome = tl::expected<T, Failure>;

[[nodiscard]] inline tl::unexpected<Failure> failed(ExitStatus status,
                                                    std::string text,
                                                    std::string body = {}) {
  return tl::unexpected<Failure>(Failure{status, std::move(text), std::move(body)});
}

}  // namespace ratchet::cli
