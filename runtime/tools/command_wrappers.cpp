// Programs that run another command which stands in their arguments. Their options are listed, because
// without knowing which take a value nobody can tell where the command begins; an option that is not listed
// makes the command unknown. Sources: POSIX.1-2017 utilities, the manual pages of coreutils, findutils, sudo
// and bash.

#include <algorithm>
#include <optional>
#include <span>

#include "runtime/tools/command_parts.hpp"

namespace ratchet {

namespace {

using Words = std::span<const ShellWord>;
using Kind = CommandPart::Kind;

constexpr auto npos = std::string_view::npos;
constexpr std::string_view not_known = "what a wrapper runs cannot be told from its arguments";

struct Wrapper {
  std::string_view name;
  std::string_view flags;       ///< options of one letter that stand alone
  std::string_view with_value;  ///< those that a value follows
  std::string_view longs = {};  ///< " name " for a flag, " name= " for one with a value behind the sign
  std::size_t operands = 0;     ///< before the command
  bool assigns = false;         ///< takes NAME=value before the command
};

constexpr Wrapper wrappers[] = {
    {"sudo", "AbEHknPSB", "ughpCTrtRD", " preserve-env non-interactive set-home user= group= ", 0, true},
    {"doas", "nL", "uC"},
    {"env", "i0v", "uC", " ignore-environment null debug unset= chdir= ", 0, true},
    {"timeout", "vfp", "ks", " foreground preserve-status verbose kill-after= signal= ", 1},
    {"nice", "0123456789", "n", " adjustment= "},
    {"nohup", "", ""},
    {"time", "pvaq", "fo", " portability verbose append quiet format= output= "},
    {"stdbuf", "", "ioe", " input= output= error= "},
    {"setsid", "cfw", "", " ctty fork wait "},
    {"ionice", "t", "cn", " ignore class= classdata= "},
    {"xargs",
     "0rtpxo",
     "adEILnPs",
     " null no-run-if-empty verbose interactive exit open-tty arg-file= delimiter= max-lines= max-args= "
     "max-procs= max-chars= "},
    {"command", "p", ""},
    {"builtin", "", ""},
    {"exec", "cl", "a"},
};

constexpr std::string_view shells[] = {"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash"};

/// They run a command too, in ways that are not read here.
constexpr std::string_view opaque[] = {
    "parallel", "watch",       "su",      "runuser", "pkexec",  "script",  "chroot",   "unshare",
    "nsenter",  "flock",       "strace",  "ltrace",  "gdb",     "busybox", "toybox",   "systemd-run",
    "at",       "batch",       "crontab", "tmux",    "screen",  "expect",  "fakeroot", "rlwrap",
    "entr",     "proxychains", "torify",  "chrt",    "taskset", "numactl", "prlimit",  "setpriv",
    "capsh",    "firejail",    "bwrap",   "fish",    "csh",     "tcsh",    "coproc",   "alias",
    "mapfile",  "readarray",   "let",     "chpst",   "cgexec"};

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// One word, whatever it expands to.
bool is_one(const ShellWord& word) {
  return !word.splits;
}

struct Options {
  std::size_t end = 1;               ///< the first word after them
  std::optional<ShellWord> replace;  ///< the value of -I
};

/// The options at the beginning of a wrapper's arguments. Nothing, if one is not known to us.
std::optional<Options> read_options(const Wrapper& wrapper, Words words) {
  Options options;
  std::size_t& i = options.end;
  for (; i < words.size(); ++i) {
    const ShellWord& word = words[i];
    if (!word.known) {
      // An expansion may be an option, unless it certainly begins otherwise.
      if (word.splits || word.text.empty() || word.text[0] == '-') return std::nullopt;
      return options;
    }
    const std::string_view text = word.text;
    if (text == "--") {
      ++i;
      return options;
    }
    if (text.size() < 2 || text[0] != '-') {
      if (text == "-" && wrapper.name == "env") continue;
      return options;
    }
    if (text[1] == '-') {
      const auto name = text.substr(2, text.find('=') == npos ? npos : text.find('=') - 1);
      if (wrapper.longs.find(" " + std::string(name) + " ") == npos) return std::nullopt;
      continue;
    }
    for (std::size_t c = 1; c < text.size(); ++c) {
      if (wrapper.flags.find(text[c]) != npos) continue;
      if (wrapper.with_value.find(text[c]) == npos) return std::nullopt;
      const bool attached = c + 1 < text.size();
      if (!attached && (i + 1 == words.size() || !is_one(words[i + 1]))) return std::nullopt;
      const ShellWord value = attached ? ShellWord{std::string(text.substr(c + 1))} : words[++i];
      if (text[c] == 'I') options.replace = value;
      break;
    }
  }
  return options;
}

/// Where the word may hold what is replaced, it is known up to there only.
ShellWord replaced(ShellWord word, const ShellWord& by) {
  const auto at = by.known && !by.text.empty() ? word.text.find(by.text) : 0;
  if (at == std::string::npos) return word;
  word.text.resize(at);
  word.known = false;
  return word;
}

std::vector<ShellWord> replaced(Words words, const ShellWord& by) {
  std::vector<ShellWord> all;
  for (const ShellWord& word : words)
    all.push_back(replaced(word, by));
  return all;
}

void unwrap(const Wrapper& wrapper, Words words, bool open_ended, PartCollector& parts) {
  const bool is_query = wrapper.name == "command" && words.size() > 1 && words[1].known &&
                        (words[1].text == "-v" || words[1].text == "-V");
  if (is_query) return;
  const auto options = read_options(wrapper, words);
  if (!options) return parts.unknown(not_known);
  std::size_t i = options->end;
  for (std::size_t n = 0; n < wrapper.operands && i < words.size(); ++n, ++i)
    if (!is_one(words[i])) return parts.unknown(not_known);
  for (; wrapper.assigns && i < words.size() && begins_with_assignment(words[i].text); ++i) {
    if (!is_one(words[i])) return parts.unknown(not_known);
    parts.add(Kind::assignment, words[i]);
  }
  const Words inner = words.subspan(std::min(i, words.size()));
  const bool is_xargs = wrapper.name == "xargs";
  if (inner.empty()) {
    if (open_ended) parts.unknown(not_known);
    return;
  }
  if (is_xargs && options->replace)
    parts.command(replaced(inner, *options->replace), open_ended);
  else
    parts.command({inner.begin(), inner.end()}, open_ended || is_xargs);
}

/// `sh -c TEXT`, `sh FILE`, or a shell that reads commands from its input.
void unwrap_shell(Words words, bool open_ended, PartCollector& parts) {
  constexpr std::string_view longs = " --login --norc --noprofile --posix --restricted --verbose ";
  bool reads_text = false;
  std::size_t i = 1;
  for (; i < words.size(); ++i) {
    if (!words[i].known && (words[i].splits || words[i].text.empty() || words[i].text[0] == '-'))
      return parts.unknown(not_known);
    const std::string_view text = words[i].text;
    if (text.size() < 2 || (text[0] != '-' && text[0] != '+')) break;
    if (text == "--") {
      ++i;
      break;
    }
    if (text[1] == '-') {
      if (longs.find(" " + std::string(text) + " ") == npos) return parts.unknown(not_known);
      continue;
    }
    if (text.find('s') != npos || text.find_first_not_of("+-abcefhiklmnoprtuvxBCEHOPT") != npos)
      return parts.unknown("a shell reads commands from its input");
    reads_text = reads_text || text.find('c') != npos;
    if (text.find_first_of("oO") != npos) ++i;  // its value
  }
  if (reads_text && i < words.size() && words[i].known) return parts.line(words[i].text);
  if (reads_text) return parts.unknown("the text that a shell is given is an expansion");
  const bool is_script = i < words.size() && is_one(words[i]) && words[i].text != "-";
  if (!is_script || open_ended) parts.unknown("a shell reads commands from its input");
}

void unwrap_eval(Words words, bool open_ended, PartCollector& parts) {
  std::string text;
  const bool ends_options = words.size() > 1 && words[1].known && words[1].text == "--";
  for (const ShellWord& word : words.subspan(ends_options ? 2 : 1)) {
    if (!word.known) return parts.unknown("the text of eval is an expansion");
    text.append(text.empty() ? "" : " ").append(word.text);
  }
  if (open_ended) return parts.unknown("the text of eval is an expansion");
  parts.line(text);
}

/// The text of a trap runs later; which word it is depends on the options before it.
void unwrap_trap(Words words, PartCollector& parts) {
  const bool plain =
      words.size() < 2 ||
      (words[1].known && (words[1].text.empty() || words[1].text == "-" || words[1].text[0] != '-'));
  if (!plain) return parts.unknown("the text of trap is not plain");
  if (words.size() > 1 && words[1].text != "-") parts.line(words[1].text);
}

/// -exec and its kin up to `;` or `+`. What it deletes or writes itself is a write.
void unwrap_find(Words words, bool open_ended, PartCollector& parts) {
  if (open_ended) parts.unknown(not_known);
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!words[i].known) {
      const std::string_view begin = words[i].text;
      if (words[i].splits || begin.empty() || begin[0] == '-')
        parts.unknown("an argument of find is an expansion");
      continue;
    }
    const std::string_view text = words[i].text;
    if (text == "-delete" || text.starts_with("-fprint") || text == "-fls") {
      parts.add(Kind::write, {"", false, false});
    } else if (text == "-exec" || text == "-execdir" || text == "-ok" || text == "-okdir") {
      const auto begin = words.begin() + static_cast<std::ptrdiff_t>(i) + 1;
      const auto end = std::find_if(begin, words.end(), [&](const ShellWord& word) {
        const bool follows_place = &word != &*begin && (&word)[-1].text == "{}";
        return word.known && (word.text == ";" || (word.text == "+" && follows_place));
      });
      if (end == begin || end == words.end()) return parts.unknown(not_known);
      parts.command(replaced({begin, end}, ShellWord{"{}"}));
      i = static_cast<std::size_t>(end - words.begin());
    }
  }
}

}  // namespace

void unwrap_command(const std::vector<ShellWord>& words, bool open_ended, PartCollector& parts) {
  const std::string_view name = program_name(words.front().text);
  const auto wrapper = std::find_if(
      std::begin(wrappers), std::end(wrappers), [&](const Wrapper& known) { return known.name == name; });
  if (wrapper != std::end(wrappers)) return unwrap(*wrapper, words, open_ended, parts);
  if (is_one_of(name, shells)) return unwrap_shell(words, open_ended, parts);
  if (name == "eval") return unwrap_eval(words, open_ended, parts);
  if (name == "trap") return unwrap_trap(words, parts);
  if (name == "find") return unwrap_find(words, open_ended, parts);
  if (is_one_of(name, opaque)) parts.unknown(std::string(name) + " runs what is not judged");
}

}  // namespace ratchet
