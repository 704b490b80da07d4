#!/usr/bin/env bash
# An agent reads a log of this machine; in the middle of it the server is killed and started again.
# Usage: examples/demo.sh RATCHET-BINARY [--model-url URL] [--model-protocol openai|anthropic] [--model NAME]
# Of the environment: ANTHROPIC_API_KEY or OPENAI_API_KEY, RATCHET_DEMO_DIR (build/demo), RATCHET_DEMO_LOG.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ratchet=$(realpath "$1")
shift
work=${RATCHET_DEMO_DIR:-build/demo}
server=""
client=""

say() { printf '\n» %s\n' "$*"; }
die() { printf 'demo: %s\n' "$*" >&2; exit 1; }

stop_all() {
  exec 3<&- || true
  local pid
  for pid in $client $server; do kill "$pid" 2>/dev/null || true; done
  [[ -z $server ]] || wait "$server" 2>/dev/null || true
}
trap stop_all EXIT

# --- the model ---------------------------------------------------------------------------------------------

model_options() {
  if [[ " $* " == *" --model-url "* ]]; then printf '%s\n' "$@"
  elif [[ -n ${ANTHROPIC_API_KEY:-} ]]; then
    printf '%s\n' --model-url https://api.anthropic.com --model-protocol anthropic --model claude-opus-5-5 "$@"
  elif [[ -n ${OPENAI_API_KEY:-} ]]; then
    printf '%s\n' --model-url https://api.openai.com/v1 --model gpt-5 "$@"
  elif (($#)); then die "--model-url is needed with: $*"
  else printf '%s\n' --config examples/config/scripted.yaml
  fi
}
# The last --model counts, so that one on the command line overrides ours.
mapfile -t model < <(model_options "$@")
((${#model[@]})) || exit 1

# --- the log -----------------------------------------------------------------------------------------------

# Long enough, and with something in it that the scripted model can find.
enough() {
  [[ -f $1 && -r $1 && $(wc -c <"$1") -ge 65536 ]] &&
    tail -c 2000000 "$1" | grep -a -i -E 'error|fail|half-|warn|denied|timeout|install' >/dev/null
}

# A real log of many pages, at most its last 2 MB: that of the package manager, of the system, of the kernel; where a
# container has none of them, the list of what is installed here.
find_log() {
  local file
  for file in ${RATCHET_DEMO_LOG:-} /var/log/dpkg.log /var/log/syslog /var/log/messages /var/log/apt/term.log; do
    if enough "$file"; then
      say "the log: $file"
      tail -c 2000000 "$file" >"$work/input.log"
      return
    fi
  done
  journalctl --no-pager -n 20000 >"$work/input.log" 2>/dev/null || true
  enough "$work/input.log" && { say "the log: journalctl"; return; }
  dmesg >"$work/input.log" 2>/dev/null || true
  enough "$work/input.log" && { say "the log: dmesg"; return; }
  # With `|| true`: the list ends early, and find complains about what it may not read.
  { find /usr/lib /usr/share /etc -xdev -type f -printf '%TY-%Tm-%TdT%TH:%TM install %p %s bytes\n' 2>/dev/null || true; } |
    head -n 20000 >"$work/input.log" || true
  say "the log: files of this machine, there is no other"
}

# --- the server --------------------------------------------------------------------------------------------

start_server() { # start_server ADDRESS
  mkfifo "$work/ready"
  "$ratchet" serve --dev --listen "$1" --data-dir "$work/data" "${model[@]}" >"$work/ready" 2>>"$work/server.log" 3<&- &
  server=$!
  # The one line of output says that it is ready; an end of output without it, that it will not be.
  local line=""
  read -r line <"$work/ready" || { cat "$work/server.log" >&2; die "the server did not start"; }
  rm "$work/ready"
  printf '%s\n' "$line"
}

rm -rf "$work"
mkdir -p "$work"
find_log
say "starting a server"
start_server 127.0.0.1:0
address=$(<"$work/data/listen")
export RATCHET_URL=http://$address

say "registering the agent: ratchet apply -f examples/"
"$ratchet" apply -f examples/

# Early enough for any model to have something left to do, and while it is answering.
kill_at_step=2
[[ ${model[0]} != --config ]] || kill_at_step=5
say "ratchet run triage --input @log ($(wc -c <"$work/input.log") bytes); while the model answers step $kill_at_step: kill -9"
mkfifo "$work/events"
"$ratchet" run triage --input "@$work/input.log" --user dev:demo --idempotency-key demo-1 >"$work/events" 2>&1 &
client=$!
exec 3<"$work/events"
killed=""
run=""
while IFS= read -r line <&3; do
  printf '%s\n' "$line"
  [[ -n $run || $line != run_* ]] || run=$line
  [[ -z $killed && $line =~ ^\ *[0-9]+\ +model\.requested\ +step\ $kill_at_step, ]] || continue
  killed=yes
  kill -9 "$server"
  wait "$server" 2>/dev/null || true
  say "SIGKILL: the server is dead. Starting it again; the client waits."
  start_server "$address"
  echo
done
exec 3<&-
status=0
wait "$client" || status=$?
client=""
[[ -n $killed ]] || die "the run ended before the kill (status $status)"

say "stopping the server (SIGTERM), and checking what it wrote: ratchet journal verify"
kill "$server"
wait "$server" || die "the server did not drain: status $?"
server=""
"$ratchet" journal verify --data-dir "$work/data"

# One sequence from 1 to the end, over both lives of the server.
"$ratchet" journal dump --data-dir "$work/data" "$run" >"$work/journal.jsonl"
last=$(wc -l <"$work/journal.jsonl")
grep -q '"type":"run.finished"' "$work/journal.jsonl" || die "the run did not finish"
((status == 0)) || die "the run did not end by an answer: status $status"
say "the same run, $run, went on to its answer: $last events, none lost, none twice."
printf 'Look at it:  %s serve --dev --data-dir %s\n             %s runs show %s\n' "$ratchet" "$work/data" "$ratchet" "$run"
