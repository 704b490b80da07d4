#!/usr/bin/env bash
# An agent shops for a user; four times something stands between what its model wants and what happens.
# Usage: examples/orders.sh RATCHET-BINARY ORDER-SERVICE-BINARY
# The model is scripted, so that it misbehaves the same way every time. Of the environment: RATCHET_DEMO_DIR (build/orders).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ratchet=$(realpath "$1")
order_service=$(realpath "$2")
work=${RATCHET_DEMO_DIR:-build/orders}
server=""
shop=""
client=""

say() { printf '\n» %s\n' "$*"; }
die() { printf 'orders: %s\n' "$*" >&2; exit 1; }

stop_all() {
  local pid
  for pid in $client $server $shop; do kill "$pid" 2>/dev/null || true; done
  for pid in $client $server $shop; do wait "$pid" 2>/dev/null || true; done
}
trap stop_all EXIT

# --- the two servers ---------------------------------------------------------------------------------------

# start NAME COMMAND…: in the background; its process is $started, the first line it prints is $line.
start() {
  local name=$1
  shift
  mkfifo "$work/ready"
  "$@" >"$work/ready" 2>>"$work/$name.log" &
  started=$!
  read -r line <"$work/ready" || { cat "$work/$name.log" >&2; die "$name did not start"; }
  rm "$work/ready"
}

start_ratchet() { # start_ratchet ADDRESS
  start ratchet "$ratchet" serve --dev --listen "$1" --data-dir "$work/data" --config examples/orders/server.yaml
  server=$started
}

kill_ratchet() {
  kill -9 "$server"
  wait "$server" 2>/dev/null || true
}

# What the shop says at PATH, without the head of its answer.
ask_shop() { # ask_shop PATH
  local line
  exec 3<>"/dev/tcp/127.0.0.1/$port"
  printf 'GET %s HTTP/1.0\r\n\r\n' "$1" >&3
  while IFS= read -r line <&3 && [[ $line != $'\r' ]]; do :; done
  cat <&3
  exec 3<&-
}

# --- evidence ----------------------------------------------------------------------------------------------

# holds WHAT PATTERN FILE: there is a line that matches (grep -E), or the demonstration has failed.
holds() {
  grep -q -E -e "$2" "$3" || { cat "$3" >&2; die "this does not hold: $1"; }
  printf '  ✓ %s\n' "$1"
}

holds_not() {
  if grep -E -e "$2" "$3" >&2; then die "this does not hold: $1"; fi
  printf '  ✓ %s\n' "$1"
}

# The events of a run that tell about its calls, as people read them, and all of them, as the API has them.
show_calls() { # show_calls RUN
  "$ratchet" runs tail "$1" --json >"$work/events.jsonl" || true
  "$ratchet" runs tail "$1" | tee "$work/events.txt" |
    grep -A1 -E '^ *[0-9]+ +(model.completed|tool|approval|call|run.finished)' | grep -v '^--$' || true
  ask_shop /ledger >"$work/ledger"
}

# field NAME FILE: the first string of that name in lines of JSON.
field() { grep -o -m1 -E "\"$1\":\"[^\"]*\"" "$2" | head -n 1 | cut -d '"' -f 4; }

ask_agent() { # ask_agent INPUT: a run on behalf of Ada, to its end
  say "ratchet run shop --input '$1'"
  "$ratchet" run shop --input "$1" --user "$ada" >"$work/run.txt" ||
    { cat "$work/run.txt" >&2; die "the run did not end by an answer"; }
  run=$(head -n 1 "$work/run.txt")
  show_calls "$run"
}

# -----------------------------------------------------------------------------------------------------------

rm -rf "$work"
mkdir -p "$work"
# She may look, buy and write e-mails. She has no right to give refunds.
ada=dev:ada:shop:read,shop:buy,email:send

say "starting a shop that never answers the first two requests for an e-mail, and a server"
start shop "$order_service" --unanswered-emails 2
shop=$started
port=$line
start_ratchet 127.0.0.1:0
address=$(<"$work/data/listen")
export RATCHET_URL=http://$address
sed "s/PORT/$port/g" examples/orders/shop.yaml >"$work/shop.yaml"
"$ratchet" apply -f "$work/shop.yaml"

say "1. The agent has the tool refund, but its user has no right to refunds."
ask_agent "Please refund order 1001."
holds "the call was denied for what the user's token lacks" \
  '"type":"tool.requested".*"tool":"refund".*lacks the scope refunds:write' "$work/events.jsonl"
holds "the model was told, and took another way" 'order_status ok' "$work/events.txt"
holds "no refund reached the shop" '"refund":0' "$work/ledger"

say "2. A seller has written instructions for assistants into the text of a product, and the model obeys them."
ask_agent "Which lamps do you have?"
holds "the text reached the model, as what it is: the result of a tool" \
  '"type":"tool.result".*NOTICE TO THE ASSISTANT' "$work/events.jsonl"
holds "a refund, a tool that does not exist, and a foreign recipient beside a good one: three denials" \
  '"type":"tool.result".*"status":"denied"' "$work/events.jsonl"
(($(grep -c '"status":"denied"' "$work/events.jsonl") == 3)) || die "there were not three denials"
holds "nothing was refunded, and no e-mail left" '"email":0,"refund":0' "$work/ledger"

say "3. Ordering asks a person. The person changes the arguments, and exactly those run."
say "ratchet run shop --input 'Please order two desk lamps.'"
mkfifo "$work/events"
"$ratchet" run shop --input "Please order two desk lamps." --user "$ada" >"$work/events" 2>&1 &
client=$!
exec 4<"$work/events"
run=""
approval=""
while IFS= read -r line <&4; do
  [[ -n $run || $line != run_* ]] || run=$line
  [[ -z $approval && $line =~ approvals\ approve.reject\ (run_[^ ]+)\ (apr_[^ ]+) ]] || continue
  approval=${BASH_REMATCH[2]}
  "$ratchet" approvals list
  holds_not "nothing has been ordered while nobody has decided" '"what":"checkout"' <(ask_shop /ledger)
  say "ratchet approvals approve $run $approval --args '…\"express\":\"yes\"…': an edit that does not fit the schema"
  if "$ratchet" approvals approve "$run" "$approval" --args '{"deliver_to":"12 Mill Lane","express":"yes"}' 2>&1; then
    die "arguments that do not fit were taken"
  fi
  say "ratchet approvals approve $run $approval --args '…\"express\":false'"
  "$ratchet" approvals approve "$run" "$approval" --args '{"deliver_to":"12 Mill Lane","express":false}' \
    --comment "Not in a hurry" --json >"$work/approval.json"
done
exec 4<&-
wait "$client" || die "the run did not end by an answer"
client=""
[[ -n $approval ]] || die "nobody was asked"
show_calls "$run"
approved=$(field effective_args_hash "$work/approval.json")
holds "what the model wanted: by express" '"type":"approval.required".*"express":true' "$work/events.jsonl"
holds "what the shop was sent has the SHA-256 that was approved, $approved" \
  "\"what\":\"checkout\".*\"effects\":1.*\"args_sha256\":\"$approved\".*express.*false" "$work/ledger"
status=0
"$ratchet" approvals reject "$run" "$approval" 2>"$work/late.txt" || status=$?
((status != 0)) || die "a decision was taken back"
printf '  ✓ a decision is made once: %s\n' "$(<"$work/late.txt")"

say "4. An e-mail is sent once, although the server is killed twice while sending it."
"$ratchet" run shop --input "Please write an e-mail about order 1001." --user "$ada" >"$work/run.txt" 2>&1 &
client=$!
for kill in 1 2; do
  # The shop has sent it, or knows that it has, and the server waits for an answer that does not come.
  ask_shop "/ledger?emails=$kill" >"$work/ledger"
  kill_ratchet
  grep '"what":"email"' "$work/ledger" || die "request $kill for the e-mail did not come"
  say "SIGKILL $kill: the server is dead. Starting it again; the client waits."
  start_ratchet "$address"
done
wait "$client" || { cat "$work/run.txt" >&2; die "the run did not end by an answer"; }
client=""
run=$(head -n 1 "$work/run.txt")
show_calls "$run"
holds "asked for three times, under one key, and sent once" '"what":"email".*"requests":3,"effects":1' "$work/ledger"
holds "the run knows one result" 'tool.result +send_email ok' "$work/events.txt"

say "stopping the server, and checking what its three lives wrote: ratchet journal verify"
kill "$server"
wait "$server" || die "the server did not drain: status $?"
server=""
"$ratchet" journal verify --data-dir "$work/data"

say "what really happened, as the shop tells it: on whose behalf, how often asked, how often done"
cat "$work/ledger"
holds "one cart, one order, one e-mail, no refund" '^\{"cart":1,"checkout":1,"email":1,"refund":0\}$' "$work/ledger"
holds_not "all of it with the credential of Ada, over every crash" '"user":"(nobody|somebody)"' "$work/ledger"
