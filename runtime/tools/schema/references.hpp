#pragma once
// `$ref`, `$anchor` and their dynamic forms, within one document that is one schema resource. There
// `$dynamicRef` always ends where `$ref` would: the outermost resource that has the anchor is the only one.
// (JSON Schema 2020-12 core, sections 8.2.2 and 8.2.3; RFC 6901 section 6 for pointers in fragments.)

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/tools/schema/node.hpp"
#include "runtime/tools/schema/problem.hpp"

namespace ratchet::schema {

/// What was met while the document was gone through; all of it borrowed from the document.
class References {
 public:
  explicit References(const boost::json::value& document) : document_(document) {}

  /// Every schema of the document.
  void add_schema(const boost::json::value& schema, Child node) { nodes_.emplace(&schema, node); }

  void set_id(std::string_view id) { id_ = id; }

  /// False if the anchor is there already.
  bool add_anchor(std::string_view anchor, Child node) { return anchors_.emplace(anchor, node).second; }

  /// `from` is filled in by `resolve`.
  void add(const boost::json::value& reference, Child& from) { pending_.push_back({&reference, &from}); }

  /// Finds what all references name. A problem is left at the first one that names nothing here.
  void resolve(Problem& problem) const;

 private:
  struct Pending {
    const boost::json::value* reference;
    Child* from;
  };

  /// What follows the `#`, if the reference stays in the document.
  std::optional<std::string_view> fragment(std::string_view reference) const;
  Child find(std::string_view fragment) const;
  Child find_pointer(std::string_view pointer) const;

  const boost::json::value& document_;
  std::string_view id_;
  std::unordered_map<const boost::json::value*, Child> nodes_;
  std::unordered_map<std::string_view, Child> anchors_;
  std::vector<Pending> pending_;
};

}  // namespace ratchet::schema
