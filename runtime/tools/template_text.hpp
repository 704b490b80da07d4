#pragma once
// A text with places in it: "Hello {{/name}}".

#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"

namespace ratchet {

struct TemplatePart {
  bool is_place = false;
  std::string text;  ///< of a place what stands between the braces: a JSON pointer, or a word
};

/// The parts of `text`, in order; none is empty. There is no way to write `{{` otherwise than to begin a
/// place. Errors: invalid_definition.
Result<std::vector<TemplatePart>> split_template(std::string_view text);

/// Whether the text is nothing but one place.
bool is_one_place(const std::vector<TemplatePart>& parts);

/// A URL's template, apart at its `?` and `&`.
struct UrlTemplate {
  std::vector<TemplatePart> base;                ///< up to the query
  std::vector<std::vector<TemplatePart>> query;  ///< a parameter each; none: there is no `?`
};

UrlTemplate split_url_template(const std::vector<TemplatePart>& parts);

/// Whether the parameter is `name={{/pointer}}` and no more, so that it can be left out as a whole.
bool is_one_place_parameter(const std::vector<TemplatePart>& parameter);

}  // namespace ratchet
