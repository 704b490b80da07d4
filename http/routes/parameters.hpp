#pragma once
// Reading the parameters of a path and of a query. Each error names the parameter.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/routes/route.hpp"
#include "runtime/ids.hpp"

namespace ratchet {

/// An integer from `min` to `max`; nothing where the parameter is absent. Errors: invalid_request.
Result<std::optional<std::int64_t>> integer_parameter(const Query& query,
                                                      std::string_view name,
                                                      std::int64_t min,
                                                      std::int64_t max);
/// `true`, `false`, or absent, which is false. Errors: invalid_request.
Result<bool> flag_parameter(const Query& query, std::string_view name);
/// Errors: invalid_request.
Result<std::optional<Timestamp>> time_parameter(const Query& query, std::string_view name);
/// The words of `a,b,c`, each one of `known`; empty where the parameter is absent. Errors: invalid_request.
Result<std::set<std::string>> words_parameter(const Query& query,
                                              std::string_view name,
                                              const std::set<std::string_view>& known);

template <class Enum>
Result<std::optional<Enum>> enum_parameter(const Query& query, std::string_view parameter) {
  const auto text = query.get(parameter);
  if (!text) return std::nullopt;
  if (const auto value = parse_enum<Enum>(*text)) return value;
  return fail(ErrorCode::invalid_request,
              std::string(parameter) + ": expected one of " + std::string(enum_words(Enum{})));
}

/// A name (of an agent, a tool) out of a path. Errors: invalid_id.
Result<std::string> name_of(std::string_view text, std::string_view what);
/// A version number, from 1. Errors: invalid_id.
Result<std::uint32_t> version_of(std::string_view text);

/// One page of a list. A cursor is where the page before ended, bound to the list and its filters by a hash.
class Page {
 public:
  /// Reads `limit` and `cursor`. The list is the path and all other parameters, as the team sees it.
  /// Errors: invalid_request, invalid_cursor.
  static Result<Page> of(const Call& call);

  std::size_t limit() const { return limit_; }

  /// Where the page before ended; empty: this is the first.
  const std::string& after() const { return after_; }

  /// The items of this page, out of all, which are sorted by what `id` gives. `next` becomes where it ends,
  /// or empty.
  template <class Item, class Id>
  std::vector<const Item*> cut(const std::vector<Item>& all, Id id, std::string& next) const {
    std::vector<const Item*> items;
    for (const Item& item : all) {
      if (id(item) <= after_) continue;
      if (items.size() == limit_) {
        next = id(*items.back());
        break;
      }
      items.push_back(&item);
    }
    return items;
  }

  /// `{"items": items, "next_cursor": …}`. `next` is where this page ended; empty: there is no more.
  Response answer(std::string_view items, std::string_view next) const;

 private:
  std::size_t limit_ = 0;
  std::string list_;  ///< its hash
  std::string after_;
};

}  // namespace ratchet
