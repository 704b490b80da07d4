#include "http/cli/command_line.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

#include "http/cli/verbs.hpp"
#include "http/config/parse.hpp"
#include "http/version.hpp"
#include "runtime/ids.hpp"

namespace ratchet::cli {

namespace {

std::string environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

/// A development server believes who we say we are.
std::string default_user() {
  const auto user = environment("USER", "cli");
  return "dev:" + (is_name(user) ? user : "cli");
}

/// One parse of the words: where options land, and the verb that was chosen.
class CommandLine {
 public:
  explicit CommandLine(const Verbs& verbs) : verbs_(verbs) {
    app_.require_subcommand(1);
    app_.set_version_flag("--version", std::string(version));
    add_serve();
    add_apply();
    add_run();
    add_runs();
    add_approvals();
    add_journal();
    add_audit();
    add_replay();
    add_keys();
    auto* verb = app_.add_subcommand("version", "Print the version");
    verb->callback([this] { chosen_ = [] { return std::cout << version << "\n", 0; }; });
  }

  int run(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return app_.exit(error) == 0 ? 0 : static_cast<int>(ExitStatus::usage);
    }
    return chosen_();
  }

 private:
  using Act = std::function<Done(Context&)>;

  /// A verb that talks to a server.
  void talk(CLI::App* verb, Act act) {
    verb->add_flag("--json", json_, "Print what the API returned");
    verb->add_option("--url", url_, "The server; else RATCHET_URL, else http://127.0.0.1:8080");
    verb->callback([this, act = std::move(act)] {
      chosen_ = [this, act] {
        ApiClient api(url_.empty() ? environment("RATCHET_URL", "http://127.0.0.1:8080") : url_,
                      environment("RATCHET_KEY", ""));
        Context context{api, json_, terminal_style(), std::cout, std::cerr};
        return report(act(context));
      };
    });
  }

  int report(const Done& done) const {
    if (done) return static_cast<int>(*done);
    if (json_ && !done.error().body.empty()) std::cout << done.error().body << "\n";
    std::cerr << "ratchet: " << harmless(done.error().text) << "\n";
    return static_cast<int>(done.error().status);
  }

  void add_serve() {
    auto* verb = app_.add_subcommand("serve", "Start a server");
    verb->add_option("--config", serve_.config_file, "The configuration file");
    verb->add_option("--data-dir", serve_.data_dir, "Where everything is kept");
    verb->add_option("--listen", serve_.listen, "Address and port");
    verb->add_flag("--dev", serve_.dev, "On loopback, without keys; users are who they say they are");
    verb->add_option(
        "--agents", serve_.agents, "Agents and tools to register at the start: a file or a folder");
    verb->add_option("--model-url", serve_.model_url, "Adds a model named `default`, served there");
    verb->add_option("--model-protocol", serve_.model_protocol, "openai or anthropic")->capture_default_str();
    verb->add_option("--model", serve_.model_name, "The provider's own name of that model")->take_last();
    verb->add_flag("--log-json", serve_.log_json, "Log lines as JSON");
    verb->add_flag("--help-config", help_config_, "Print every key of the configuration file");
    verb->callback([this] {
      chosen_ = [this] { return help_config_ ? (std::cout << config_help(), 0) : verbs_.serve(serve_); };
    });
  }

  void add_apply() {
    auto* verb = app_.add_subcommand("apply", "Register agents and tools");
    verb->add_option("-f,--file", paths_, "Files or folders, YAML or JSON")->required();
    talk(verb, [this](Context& context) { return apply_files(context, paths_); });
  }

  void add_run() {
    auto* verb = app_.add_subcommand("run", "Start a run and follow it to its end");
    verb->add_option("agent", start_.agent_id, "The agent")->required();
    verb->add_option("--input", start_.input, "The task: a text, @FILE, or - for standard input")->required();
    verb->add_option("--agent-version", start_.agent_version, "Default: the one that serves");
    verb->add_option("--user", start_.user_token, "On whose behalf; else RATCHET_USER_TOKEN, else dev:<you>");
    verb->add_option(
        "--idempotency-key", start_.idempotency_key, "The same key starts the same run only once");
    verb->add_option("--label", labels_, "NAME=VALUE, kept with the run");
    verb->add_option("--max-steps", start_.max_steps, "Below the agent's budget");
    verb->add_option("--max-tokens", start_.max_tokens, "Below the agent's budget");
    verb->add_option("--max-seconds", start_.max_seconds, "Below the agent's budget");
    verb->add_option("--max-usd", start_.max_usd, "Below the agent's budget, as a decimal number");
    verb->add_flag("--detach", start_.detach, "Do not follow it");
    talk(verb, [this](Context& context) -> Done {
      if (start_.user_token.empty()) start_.user_token = environment("RATCHET_USER_TOKEN", default_user());
      for (const auto& label : labels_) {
        const auto equals = label.find('=');
        if (equals == std::string::npos || equals == 0)
          return failed(ExitStatus::usage, fmt::format("--label {} is not NAME=VALUE", label));
        start_.labels.emplace_back(label.substr(0, equals), label.substr(equals + 1));
      }
      return start_run(context, start_);
    });
  }

  void add_runs() {
    auto* runs = app_.add_subcommand("runs", "Look at runs and act on them");
    runs->require_subcommand(1);
    auto* verb = runs->add_subcommand("list", "Newest first");
    verb->add_option("--status", list_.status, "queued, running, paused or finished");
    verb->add_option("--agent", list_.agent_id, "Runs of this agent");
    verb->add_option("--user", list_.user_id, "Runs on behalf of this user");
    verb->add_option("--parent", list_.parent_run_id, "Runs that this run has started");
    verb->add_option("--stop-reason", list_.stop_reason, "final_answer, cancelled, …");
    verb->add_option("--since", list_.since, "Created at or after this time (RFC 3339)");
    verb->add_option("--until", list_.until, "Created before this time");
    verb->add_option("--limit", list_.limit, "At most so many, up to 200")->capture_default_str();
    verb->add_option("--cursor", list_.cursor, "Where the page before ended");
    talk(verb, [this](Context& context) { return list_runs(context, list_); });

    verb = on_run(runs, "show", "All about one run", [this](Context& context) {
      return step_ > 0 ? show_step(context, run_id_, step_) : show_run(context, run_id_);
    });
    verb->add_option("--step", step_, "Only this step, with everything that happened in it");

    verb = on_run(runs, "tail", "Follow its events", [this](Context& context) {
      return tail_run(context, run_id_, tail_);
    });
    verb->add_option("--after", tail_.after, "Only events with a higher number");
    verb->add_flag("--children", tail_.children, "Also those of the runs below it");
    verb->add_flag("--output", tail_.output, "Also what running commands write, while they do");

    verb = on_run(
        runs, "cancel", "Stop it", [this](Context& context) { return cancel_run(context, run_id_, text_); });
    verb->add_option("--reason", text_, "Kept in its events");

    verb = on_run(runs, "message", "Tell it something", [this](Context& context) {
      return send_message(context, run_id_, text_, start_.idempotency_key);
    });
    verb->add_option("text", text_, "A text, @FILE, or - for standard input")->required();
    verb->add_option("--idempotency-key", start_.idempotency_key, "The same key is taken only once");

    verb = on_run(
        runs, "replay", "Run it again from one of its steps on, with a change", [this](Context& context) {
          return replay_run(context, run_id_, replay_);
        });
    verb->add_option("--from", replay_.from_step, "The first live step")->required();
    verb->add_option("--patch", replay_.patch, "What is changed: JSON, @FILE, or - for standard input");
    verb->add_option(
            "--tools", replay_.tools, "recorded: answered from the record; live: executed where they may be")
        ->capture_default_str();
    verb->add_option(
            "--nondeterminism", replay_.nondeterminism, "pin_seed, temperature_0 or accept_divergence")
        ->capture_default_str();
    verb->add_option("--user", replay_.user_token, "On whose behalf live tools act");
    verb->add_option(
        "--idempotency-key", replay_.idempotency_key, "The same key starts the same replay only once");
    verb->add_flag("--detach", replay_.detach, "Do not follow it");

    verb = on_run(runs, "export", "Write it to a file", [this](Context& context) {
      return export_run(context, run_id_, text_, full_);
    });
    verb->add_option("-o,--output", text_, "The file; else standard output");
    verb->add_flag("--full", full_, "Exact bytes, to be imported elsewhere; needs the role audit");

    verb =
        runs->add_subcommand("import", "Take a run from the file that another server has exported in full");
    verb->add_option("file", text_, "The file")->required();
    talk(verb, [this](Context& context) { return import_run(context, text_); });

    verb = on_run(runs, "diff", "Compare it with another one, step by step", [this](Context& context) {
      return diff_runs(context, run_id_, against_);
    });
    verb->add_option("against", against_, "The other run's id")->required();

    on_run(runs, "resume", "Let it go on after it failed repeatedly", [this](Context& context) {
      return resume_run(context, run_id_);
    });

    // Never as an argument: what stands there is seen by every process of the machine.
    on_run(runs,
           "token",
           "Give it a fresh token of its user (RATCHET_USER_TOKEN, or standard input)",
           [this](Context& context) -> Done {
             std::string token = environment("RATCHET_USER_TOKEN", "");
             if (token.empty()) std::getline(std::cin >> std::ws, token);
             token.erase(token.find_last_not_of(" \t\r\n") + 1);
             if (token.empty())
               return failed(ExitStatus::usage,
                             "there is no token in RATCHET_USER_TOKEN or on standard input");
             return give_token(context, run_id_, token);
           });

    verb = on_run(runs, "resolve", "Say what became of a call", [this](Context& context) -> Done {
      if (!happened_ && !did_not_happen_)
        return failed(ExitStatus::usage, "either --happened or --did-not-happen is needed");
      return resolve_call(context, run_id_, call_id_, happened_, text_);
    });
    verb->add_option("call", call_id_, "The call")->required();
    auto* happened = verb->add_flag("--happened", happened_, "It had its effect");
    auto* did_not =
        verb->add_flag("--did-not-happen", did_not_happen_, "It is executed again under the same key");
    happened->needs(verb->add_option("--result", text_, "What the model is told of a call that happened"));
    happened->excludes(did_not);
  }

  void add_approvals() {
    auto* approvals = app_.add_subcommand("approvals", "What waits for a person, and deciding it");
    approvals->require_subcommand(1);
    auto* verb = approvals->add_subcommand("list", "Newest first");
    verb->add_option(
        "--status", approval_.status, "pending, decided or expired; default: pending, - for all");
    verb->add_option("--run", approval_.run_id, "Of this run");
    verb->add_option("--limit", approval_.limit, "At most so many, up to 200")->capture_default_str();
    verb->add_option("--cursor", approval_.cursor, "Where the page before ended");
    talk(verb, [this](Context& context) {
      if (approval_.status.empty()) approval_.status = "pending";
      if (approval_.status == "-") approval_.status.clear();
      return list_approvals(context, approval_);
    });

    on_approval(approvals, "show", "All about one", [this](Context& context) {
      return show_approval(context, approval_);
    });
    verb = on_approval(approvals, "approve", "Let the call run", [this](Context& context) {
      return decide_approval(context, approval_, true);
    });
    verb->add_option(
        "--args", approval_.edited_args, "Run it with these arguments instead: JSON, @FILE, or -");
    verb->add_option("--args-hash", approval_.args_hash, "Only if it is about arguments with this hash");
    verb->add_option("--comment", approval_.comment, "Kept in the run's events");
    verb = on_approval(approvals, "reject", "Do not let it run; the model is told", [this](Context& context) {
      return decide_approval(context, approval_, false);
    });
    verb->add_option("--comment", approval_.comment, "The model is told this too");
  }

  CLI::App* on_approval(CLI::App* approvals, const char* name, const char* what, Act act) {
    auto* verb = approvals->add_subcommand(name, what);
    verb->add_option("run", approval_.run_id, "The run's id")->required();
    verb->add_option("approval", approval_.approval_id, "The approval's id")->required();
    talk(verb, std::move(act));
    return verb;
  }

  CLI::App* on_run(CLI::App* runs, const char* name, const char* what, Act act) {
    auto* verb = runs->add_subcommand(name, what);
    verb->add_option("run", run_id_, "The run's id")->required();
    talk(verb, std::move(act));
    return verb;
  }

  void add_journal() {
    auto* journal = app_.add_subcommand("journal", "Work on a data directory without a server");
    journal->require_subcommand(1);
    const auto add = [&](const char* name, const char* what, std::function<int(const JournalOptions&)> act) {
      auto* verb = journal->add_subcommand(name, what);
      verb->add_option("--data-dir", journal_.data_dir, "The data directory")->capture_default_str();
      verb->callback([this, act = std::move(act)] { chosen_ = [this, act] { return act(journal_); }; });
      return verb;
    };
    add("dump", "Print events as JSON lines", verbs_.journal_dump)
        ->add_option("run", journal_.run_id, "This run only");
    add("verify", "Check every record, and the hash chain of every run", verbs_.journal_verify)
        ->add_flag("--json", journal_.json, "Print the result as JSON");
    add("salvage", "Copy what is whole of a damaged store to a new directory", verbs_.journal_salvage)
        ->add_option("target", journal_.target, "The new directory")
        ->required();
  }

  void add_audit() {
    auto* verb = app_.add_subcommand("audit", "Check every run of a data directory against all invariants");
    verb->add_option("directory", journal_.data_dir, "The data directory, of a server or of none")
        ->capture_default_str();
    verb->add_flag("--json", journal_.json, "Print the result as JSON");
    verb->add_flag("--metrics", journal_.metrics, "Print it as a page for Prometheus");
    verb->callback([this] { chosen_ = [this] { return verbs_.audit(journal_); }; });
  }

  void add_replay() {
    auto* verb = app_.add_subcommand("replay", "Decide recorded runs again with this build, and compare");
    verb->add_flag("--verify", happened_, "Compare event by event; no model is called, no tool executed")
        ->required();
    verb->add_option("paths", paths_, "Full exports of runs, or folders of such")->required();
    verb->callback([this] { chosen_ = [this] { return report(verify_replays(std::cout, paths_)); }; });
  }

  void add_keys() {
    auto* keys = app_.add_subcommand("keys", "API keys");
    keys->require_subcommand(1);
    auto* verb =
        keys->add_subcommand("new", "Make a key and the line of the configuration that holds its hash");
    verb->add_option("--team", team_, "The team it belongs to")->required();
    verb->add_option("--role", roles_, "read, launch, approve, audit, admin; several times or with commas")
        ->required()
        ->delimiter(',');
    verb->add_option("--id", key_id_, "A name for logs; default: the team's");
    verb->callback([this] { chosen_ = [this] { return report(make_key()); }; });
  }

  Done make_key() const {
    std::vector<Role> roles;
    for (const auto& word : roles_) {
      const auto role = parse_enum<Role>(word);
      if (!role)
        return failed(ExitStatus::usage,
                      fmt::format("'{}' is no role: read, launch, approve, audit, admin", word));
      if (std::find(roles.begin(), roles.end(), *role) == roles.end()) roles.push_back(*role);
    }
    const auto& id = key_id_.empty() ? team_ : key_id_;
    for (const auto& text : {team_, id})
      if (!is_name(text))
        return failed(ExitStatus::usage,
                      fmt::format("'{}' is not a name of the form [a-z][a-z0-9_-]*", text));
    return new_key(std::cout, id, team_, roles);
  }

  const Verbs& verbs_;
  CLI::App app_{"Runs LLM agents: every step is journaled, and no crash undoes one.", "ratchet"};
  std::function<int()> chosen_;

  ServeOptions serve_;
  bool help_config_ = false;
  bool json_ = false;
  std::string url_;
  std::vector<std::string> paths_;
  StartOptions start_;
  std::vector<std::string> labels_;
  ListOptions list_;
  ReplayOptions replay_;
  ApprovalOptions approval_;
  std::string run_id_, call_id_, text_, against_;
  TailOptions tail_;
  std::uint32_t step_ = 0;
  bool happened_ = false, did_not_happen_ = false, full_ = false;
  JournalOptions journal_;
  std::string team_, key_id_;
  std::vector<std::string> roles_;
};

}  // namespace

int run_command_line(int argc, const char* const* argv, const Verbs& verbs) {
  return CommandLine(verbs).run(argc, argv);
}

}  // namespace ratchet::cli
