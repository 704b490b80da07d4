#pragma once
// The keys of the model providers, as they were read at the start. Whoever holds the ring sends with it; it
// prints nothing, and nothing here turns a key into an error or a log line.
//
// A run goes on with the provider that it pinned, keys are looked up when they are needed. So a key is bound
// to the address it was configured for: where the configuration has moved since, the old address does not get
// the new key.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace ratchet {

class KeyRing {
 public:
  struct Key {
    std::string secret;    ///< never empty
    std::string base_url;  ///< it goes nowhere else
  };

  /// `provider` is the index into the model's providers.
  void add(std::string model, std::uint32_t provider, Key key) {
    keys_.insert_or_assign({std::move(model), provider}, std::move(key));
  }

  /// Null: there is none. Valid as long as the ring.
  const Key* find(const std::string& model, std::uint32_t provider) const {
    const auto found = keys_.find({model, provider});
    return found == keys_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::pair<std::string, std::uint32_t>, Key> keys_;
};

}  // namespace ratchet
