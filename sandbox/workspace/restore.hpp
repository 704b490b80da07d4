#pragma once
// Restoring a snapshot into a fresh directory of ours that nobody else sees yet.

#include "runtime/result.hpp"
#include "sandbox/workspace/objects.hpp"
#include "sandbox/workspace/record.hpp"

namespace ratchet::sandbox {

enum class RestoreBy {
  /// Files are the objects themselves, where those were last written when the files were: only for the lower
  /// layer of an overlay.
  link,
  copy
};

/// Makes every entry below `root`, and checks every object before it is used. Directories are 0755, files
/// 0644 or 0755, all of them the owner's of `objects`. What is returned is the record to compare the next
/// walk with. Errors: corrupt, with the object's name and the file's path; sandbox_unavailable.
Result<Record> restore_files(int root, Manifest manifest, Objects& objects, RestoreBy by);

}  // namespace ratchet::sandbox
