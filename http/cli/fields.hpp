#pragma once
// What the API said, read leniently: a client shows what is there, and takes what is absent, null or of
// another kind than expected for empty. Nothing here checks anything.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ratchet::cli {

class Fields {
 public:
  /// Anything that is no JSON has no fields.
  explicit Fields(std::string_view json);
  ~Fields();

  bool is_json() const { return root_ != nullptr; }

  /// The value at a path of names, such as `model/name`: a string as it is, anything else as JSON.
  std::string text(std::string_view path) const;
  std::uint64_t number(std::string_view path) const;
  /// The items of a list, each as `text`.
  std::vector<std::string> texts(std::string_view path) const;
  /// Content (a string, or a list of blocks) as text; what is kept as an artifact by its id and head.
  std::string content(std::string_view path) const;

 private:
  struct Root;
  std::unique_ptr<const Root> root_;
};

}  // namespace ratchet::cli
