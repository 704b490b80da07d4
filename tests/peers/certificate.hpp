#pragma once
// A certificate that signs itself, for a server of a test.

#include <string>

namespace ratchet::tests {

/// For one DNS name, valid for a day around now, in two PEM files that go with the object.
class Certificate {
 public:
  explicit Certificate(const std::string& host);
  ~Certificate();

  Certificate(const Certificate&) = delete;
  Certificate& operator=(const Certificate&) = delete;

  const std::string& file() const { return file_; }

  const std::string& key_file() const { return key_file_; }

 private:
  std::string file_, key_file_;
};

}  // namespace ratchet::tests
