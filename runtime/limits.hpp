#pragma once
// Everything that can grow has its bound here, with what happens when it is reached.

#include <cstddef>
#include <cstdint>

namespace ratchet::limits {

// --- requests
// -------------------------------------------------------------------------------------------------
inline constexpr std::size_t request_bytes_max = 8u << 20;  // more: 413 too_large
inline constexpr std::size_t list_items_max = 200;          // more: 400
inline constexpr std::size_t list_items_default = 50;
inline constexpr std::size_t idempotency_key_bytes_max = 255;  // more: 400
inline constexpr std::size_t labels_bytes_max = 16u << 10;     // more: 400
inline constexpr std::size_t json_depth_max = 64;              // deeper: 400, or an invalid call

// --- content
// --------------------------------------------------------------------------------------------------
inline constexpr std::size_t inline_bytes_max = 16u << 10;  // larger text becomes an artifact
inline constexpr std::size_t blob_file_bytes_min = 256u
                                                   << 10;  // larger artifacts are files beside the database
inline constexpr std::size_t artifact_bytes_max = 64u << 20;  // a larger tool reply is refused as an error
inline constexpr std::size_t bytes_per_token_shown = 4;       // result_cap_tokens to bytes of head
inline constexpr std::uint32_t result_cap_tokens_max = inline_bytes_max / bytes_per_token_shown;  // more: 422

// --- definitions
// ----------------------------------------------------------------------------------------------
inline constexpr std::size_t agent_tools_max = 128;               // more: 422
inline constexpr std::size_t system_prompt_bytes_max = 1u << 20;  // more: 422
inline constexpr std::size_t schema_bytes_max = 64u << 10;        // more: 422
inline constexpr std::size_t yaml_bytes_max = 1u << 20;           // more: 413
inline constexpr std::size_t policy_rules_max = 128;              // more: 422
inline constexpr std::size_t policy_pointers_max = 16;            // of one rule; more: 422
inline constexpr std::size_t policy_values_max = 256;             // of one operator; more: 422
inline constexpr std::size_t command_pattern_bytes_max = 256;     // more: 422
inline constexpr std::size_t approval_thresholds_max = 16;        // of a manifest; more: 422
inline constexpr std::size_t redact_pointers_max = 64;            // of a manifest; more: 422
inline constexpr std::int64_t tool_timeout_ms_max = 3'600'000;    // more: 422
inline constexpr std::int64_t max_steps_max = 10'000;             // more: 422
inline constexpr std::int64_t max_tokens_max = 1'000'000'000'000;
inline constexpr std::int64_t max_seconds_max = 365ll * 86'400;
inline constexpr std::int64_t max_output_tokens_max = 10'000'000;  // of an agent's model; more: 422

// --- tools
// ----------------------------------------------------------------------------------------------------
// a manifest that has more: 422
inline constexpr std::size_t description_bytes_max = 8u << 10;
inline constexpr std::size_t network_allow_max = 32;
inline constexpr std::size_t schema_patterns_max = 32;
inline constexpr std::size_t schema_nodes_max = 10'000;     // schemas within a schema
inline constexpr std::size_t schema_chain_max = 64;         // that refer to each other for one value
inline constexpr std::size_t schema_in_place_max = 10'000;  // evaluations for one value
inline constexpr std::size_t template_headers_max = 32;
inline constexpr std::size_t header_bytes_max = 1'024;  // of a value
inline constexpr std::size_t template_places_max = 64;
inline constexpr std::size_t template_body_bytes_max = 64u << 10;
inline constexpr std::int64_t idempotency_ttl_seconds_max = 365ll * 86'400;
inline constexpr std::int64_t rate_calls_max = 1'000'000;  // of a rate limit
// a call that has more is `invalid`, and the model is told
inline constexpr std::size_t url_bytes_max = 8u << 10;             // filled in; a template: 422
inline constexpr std::size_t connector_body_bytes_max = 8u << 20;  // filled in
inline constexpr std::size_t schema_steps_max = 2'000'000;         // to check the arguments
inline constexpr std::size_t schema_depth_max = 1'024;             // schemas within each other, meanwhile
inline constexpr std::size_t search_matches_max = 200;
// a command line that has more cannot be judged: a person is asked
inline constexpr std::size_t command_line_bytes_max = 64u << 10;
inline constexpr std::size_t command_parts_max = 1'000;
inline constexpr std::size_t command_depth_max = 32;  // of nesting: groups, substitutions, wrappers
inline constexpr std::size_t search_context_lines_max = 10;
inline constexpr std::size_t pattern_bytes_max = 1'000;      // of a regular expression; in a schema: 422
inline constexpr std::size_t pattern_memory_max = 1u << 20;  // compiled; in a schema: 422
inline constexpr std::size_t todo_bytes_max = 1'024;         // of one item
inline constexpr std::int64_t wait_seconds_max = 365ll * 86'400;
// what is longer is cut, or goes on otherwise
inline constexpr std::size_t schema_message_bytes_max = 600;
inline constexpr std::size_t search_line_bytes_max = 64u << 10;  // longer: searched in pieces that overlap
inline constexpr std::size_t loop_head_bytes_max = 300;  // of a result, in the note on a repeated call
inline constexpr std::size_t loop_tools_max = 192;  // more names: the one called longest ago is forgotten
inline constexpr std::size_t artifact_answer_bytes_min = 1'024;  // of the artifact tools, whatever the cap

// --- model calls
// ----------------------------------------------------------------------------------------------
inline constexpr std::size_t sse_line_bytes_max = 8u << 20;      // longer: the attempt fails
inline constexpr std::size_t reply_bytes_max = 16u << 20;        // longer: the attempt fails
inline constexpr std::size_t calls_per_reply_max = 64;           // more: the rest is answered `invalid`
inline constexpr std::size_t reply_blocks_max = 1'024;           // more: the attempt fails
inline constexpr std::size_t error_text_bytes_max = 512;         // of a provider's or a tool's error: cut
inline constexpr std::uint32_t attempts_per_provider_max = 3;    // then the next provider, then model_error
inline constexpr std::int64_t useful_reply_tokens_min = 64;      // less left: the run stops on its limit
inline constexpr std::int64_t usage_tokens_max = 1'000'000'000;  // reported of one reply: more counts as this
inline constexpr std::int64_t connect_timeout_ms = 5'000;
inline constexpr std::int64_t idle_timeout_ms = 90'000;  // between two bytes of a reply

// --- runs
// -----------------------------------------------------------------------------------------------------
inline constexpr std::uint32_t resumes_without_progress_max = 3;    // then the run is paused (`operator`)
inline constexpr std::int64_t pause_expires_ms = 7ll * 86'400'000;  // then the run ends, `pause_expired`
inline constexpr std::size_t messages_pending_max = 1'000;          // more: 429
inline constexpr std::size_t messages_keyed_max = 10'000;  // with a key, over the whole run; more: 429
inline constexpr std::size_t resolutions_kept = 100;       // older: a repeated word finds no such call
inline constexpr std::int64_t approval_expires_seconds_max = 30ll * 86'400;  // more: 422
inline constexpr std::size_t approval_comment_bytes_max = 4'096;             // more: 400
inline constexpr std::size_t edited_args_shown_bytes = 4'096;  // to the model, of what a person changed: cut
inline constexpr std::size_t reported_calls_max = 200;  // a report lists the last ones and counts the rest
inline constexpr std::uint32_t call_attempts_max =
    3;  // of a call whose outcome is unknown; then a person decides
inline constexpr std::size_t notes_bytes_max = 64u << 10;  // more: the call is answered with an error
inline constexpr std::size_t todo_items_max = 100;         // more: the call is answered with an error
inline constexpr std::uint32_t identical_calls_max = 2;    // the next one in a row stops the run
inline constexpr std::size_t audit_violations_max = 100;   // of one run; more are not listed

// --- sub-agents
// -----------------------------------------------------------------------------------------------
inline constexpr std::int64_t subagent_levels_max = 8;    // below a run; more: 422
inline constexpr std::int64_t children_default = 8;       // of one run, over its whole life
inline constexpr std::int64_t children_max = 64;          // of an agent's definition; more: 422
inline constexpr std::size_t subagents_allowed_max = 64;  // agents in its list; more: 422
inline constexpr std::int64_t child_share_divisor = 4;    // of what is left, where nothing is asked for
inline constexpr std::int64_t child_tokens_min = 1'024;   // less to give: the call is answered with an error
inline constexpr std::size_t child_input_bytes_max = 1u << 20;  // more: the call is `invalid`

// --- context
// --------------------------------------------------------------------------------------------------
inline constexpr std::int64_t compact_at_permille_min = 100, compact_at_permille_max = 950;  // others: 422
inline constexpr std::uint32_t compactions_in_vain_max = 2;  // without headroom; then `context_overflow`
inline constexpr std::int64_t summary_tokens_max = 8'192;    // asked of the model for a hand-over note
inline constexpr std::size_t summary_bytes_max = 64u << 10;  // of one; more is cut and said
inline constexpr std::int64_t note_tokens_min = 128;         // less left for one: no compaction is asked for
inline constexpr std::int64_t note_share_divisor = 8;        // of the usable window, for a hand-over note
inline constexpr std::int64_t compaction_gain_divisor = 10;  // of it: less to gain, and none is made
inline constexpr std::size_t carried_approvals_max = 50;     // told after a compaction; older are counted
inline constexpr std::size_t carried_text_bytes_max = 300;   // of an approval's arguments and comment: cut
// `layered`
inline constexpr std::uint32_t layered_result_cap_tokens = 2'500;  // 10,000 bytes, unless the agent says more
inline constexpr std::uint32_t layered_compact_at_permille = 850;  // likewise
inline constexpr std::int64_t layered_target_permille = 350;       // of the usable window, after a compaction
inline constexpr std::int64_t layered_drop_permille = 700;  // more after a turn: old results are left out
inline constexpr std::size_t stub_bytes = 300;              // of an old result, after a turn
inline constexpr std::size_t untouched_messages = 2;        // the newest

// --- replay
// ---------------------------------------------------------------------------------------------------
inline constexpr std::size_t prompt_search_rows_max = 50'000;    // a page; the rest is on the next
inline constexpr std::size_t replay_mocks_max = 256;             // more: 422
inline constexpr std::size_t replay_patch_bytes_max = 4u << 20;  // more: 422
inline constexpr std::size_t export_bytes_max = 1ull << 30;      // of one run; more: 422
inline constexpr std::size_t prompt_matches_max = 1'000;         // of a search; more are not listed

// --- redaction
// ------------------------------------------------------------------------------------------------
inline constexpr std::size_t redact_rules_bytes_max = 2u
                                                      << 20;  // of a rules file; more: refused at the start
inline constexpr std::size_t redact_rules_max = 1'000;        // more: refused at the start
inline constexpr std::int64_t redact_regex_memory_max = 32ll << 20;  // of one, compiled; more: refused
inline constexpr std::size_t redact_held_bytes_max = 16u
                                                     << 10;   // of a stream; a longer word is shown redacted
inline constexpr std::size_t redact_margin_bytes = 8u << 10;  // looked at around a part of an artifact

// --- node
// -----------------------------------------------------------------------------------------------------
inline constexpr std::size_t recovering_max = 256;  // runs that are folded at once after a start; others wait
inline constexpr std::size_t give_back_runs_min =
    64;  // at once; freed memory is given back when half of them are gone
inline constexpr std::int64_t give_back_delay_ms = 2'000;  // what they free meanwhile goes with it
inline constexpr std::int64_t store_retry_ms = 500;     // a run whose append found no room tries again after
inline constexpr std::size_t rate_keys_max = 100'000;   // counted at once; calls of a further one wait
inline constexpr std::size_t commit_batch_max = 4'096;  // more wait for the next transaction
inline constexpr std::size_t stream_queue_bytes_max = 256u << 10;  // a reader this far behind is disconnected
inline constexpr std::size_t streams_max = 10'000;                 // more: 429
inline constexpr std::uint64_t free_space_reserve_bytes = 64ull << 20;  // below: appends are refused

// --- sandboxes
// ------------------------------------------------------------------------------------------------
// a manifest that asks for more: 422
inline constexpr std::int64_t sandbox_memory_mb_min = 16, sandbox_memory_mb_max = 64 << 10;
inline constexpr std::int64_t sandbox_pids_min = 1, sandbox_pids_max = 4'096;
inline constexpr std::int64_t sandbox_cpu_permille_min = 10, sandbox_cpu_permille_max = 64'000;
inline constexpr std::size_t sandbox_argv_max = 256;
// a call that has more is `invalid`
inline constexpr std::size_t sandbox_input_bytes_max = 8u << 20;  // of a command's standard input
inline constexpr std::size_t sandbox_arg_bytes_max = 120u
                                                     << 10;  // of one argument; the kernel's bound is 128 KiB
// a command that makes more is killed, and what it wrote until then is its result
inline constexpr std::size_t sandbox_output_bytes_max = 16u << 20;
inline constexpr std::size_t output_preview_bytes_max = 64u << 10;  // of a call; the rest is in its result
inline constexpr std::size_t sandboxes_max = 512;  // alive at once, of each tier; further calls wait
inline constexpr std::size_t sandbox_calls_waiting_max = 4'096;  // for one; more: answered with an error
inline constexpr std::size_t sandbox_pool_max =
    128;  // warm ones of a tier; a larger pool: refused at the start
inline constexpr std::int64_t sandbox_create_timeout_ms = 30'000;   // then it failed
inline constexpr std::int64_t sandbox_destroy_timeout_ms = 10'000;  // of a runtime's own words; then by force
inline constexpr std::int64_t sandbox_kill_grace_ms =
    2'000;  // after a deadline, for the guest; then by the host
inline constexpr std::size_t sandbox_frame_bytes_max =
    1u << 20;  // between host and guest; more: it is destroyed
inline constexpr std::size_t sandbox_congested_bytes = 256u << 10;  // to the host; then output waits inside
inline constexpr std::int64_t sandbox_death_timeout_ms = 5'000;     // of what was killed; then it is reported
inline constexpr std::int64_t sandbox_idle_freeze_ms = 500;         // without a call: then it gets no CPU
inline constexpr std::uint64_t sandbox_files_max = 20'000;          // in each of its file systems in memory
inline constexpr std::size_t sandbox_edit_bytes_max = 16u << 20;    // of a file that is edited, held twice
inline constexpr std::size_t sandbox_listed_max = 5'000;            // names; more are counted
inline constexpr std::size_t sandbox_visited_max = 200'000;         // files; then a list ends, and says so
inline constexpr std::uint64_t sandbox_log_bytes_max =
    8u << 20;  // of its runtime, which writes some 30 KB at its start: then no space is left
inline constexpr std::size_t runtime_words_bytes_max = 64u << 10;   // kept of what a launched program says
inline constexpr std::size_t runtime_answer_bytes_max = 16u << 10;  // of a runtime that is asked what it is
inline constexpr std::uint32_t refusals_answered_max = 1'000;  // of system calls; more: by the kernel alone
inline constexpr std::size_t sandbox_names_max = 20;           // of refused hosts and calls; more are counted
inline constexpr std::uint64_t sandbox_tmp_bytes = 64u << 20;  // of /tmp and /dev/shm: then no space is left
inline constexpr std::uint64_t sandbox_home_bytes = 16u << 20;  // of the home directory: likewise
inline constexpr std::size_t egress_connections_max = 64;  // of a sandbox at once; more wait to be accepted
inline constexpr std::size_t egress_head_bytes_max = 16u << 10;  // of a request; more: 431
inline constexpr std::size_t egress_window_bytes = 256u << 10;   // unread, of a connection and direction
inline constexpr std::int64_t egress_head_timeout_ms = 10'000;   // then the connection is closed
inline constexpr std::int64_t egress_idle_timeout_ms = 120'000;  // likewise
// what may wait for a guest that is slow; more: it does not read what it is sent, and is destroyed
inline constexpr std::size_t sandbox_outgoing_bytes_max =
    egress_connections_max * egress_window_bytes + 4 * sandbox_frame_bytes_max;
// a workspace that has more: the call that made it so fails, and the run goes on from the snapshot before it
inline constexpr std::uint64_t workspace_bytes_max = 1ull << 30;
inline constexpr std::size_t workspace_files_max = 100'000;  // directories and links too
inline constexpr std::size_t workspace_depth_max = 128;
inline constexpr std::size_t workspace_path_bytes_max = 4'096;
inline constexpr std::size_t workspace_objects_verified_max = 1u << 20;  // remembered; others: hashed again

// --- store
// ----------------------------------------------------------------------------------------------------
inline constexpr std::size_t record_bytes_max = 64u << 20;  // of one append, unpacked: more is a bug of ours
inline constexpr std::size_t store_key_bytes_max = 500;     // team, scope and key: longer are refused
inline constexpr std::size_t transaction_bytes_max = 64u
                                                     << 20;  // a batch above it takes several transactions
inline constexpr std::size_t problems_told_max = 1'000;      // of `journal verify`: more are counted only
inline constexpr std::size_t check_bytes_max = 64u << 20;    // read by the check after an unclean stop

static_assert(reply_bytes_max < record_bytes_max && record_bytes_max <= transaction_bytes_max);
static_assert(idempotency_key_bytes_max + 64 < store_key_bytes_max);

// --- the HTTP client
// ------------------------------------------------------------------------------------------
inline constexpr std::size_t reply_head_bytes_max = 64u << 10;  // all headers; more: the call fails
inline constexpr std::size_t lane_calls_max = 128;  // on one pool of connections; more: another pool
inline constexpr std::size_t calls_per_idle_connection =
    4;                                                   // of a pool; more idle ones: the oldest is closed
inline constexpr std::size_t other_descriptors = 1'024;  // of the process, kept from connections: they wait
inline constexpr std::int64_t reply_drain_ms = 1'000;    // for the end of a reply that is complete
inline constexpr std::size_t drained_bytes_max = 64u << 10;  // of it; either reached: closed
inline constexpr std::size_t scenarios_max = 1'000;          // of a file of a scripted model; more: refused
inline constexpr std::size_t scenario_steps_max = 10'000;    // of one of them; more: refused
inline constexpr std::size_t scenario_text_bytes_max = 1u << 20;    // of one text; more: refused
inline constexpr std::int64_t scenario_latency_ms_max = 3'600'000;  // more: refused
inline constexpr std::int64_t scenario_chunks_max = 10'000;         // more: refused

// --- the HTTP server
// ------------------------------------------------------------------------------------------
inline constexpr std::size_t request_header_bytes_max = 16u << 10;  // more: 431 headers_too_large
inline constexpr std::size_t connections_max = 16'384;              // more wait in the kernel's queue
inline constexpr std::size_t descriptors_advised =
    3 * connections_max;  // for them and as many calls; less is told at the start
inline constexpr std::size_t requests_waiting_max = 4'096;     // for a worker; more: 429
inline constexpr std::int64_t keep_alive_timeout_ms = 75'000;  // between two requests: closed
inline constexpr std::int64_t header_timeout_ms = 10'000;      // from a request's first byte: 408
inline constexpr std::int64_t body_timeout_ms = 60'000;        // from the end of its headers: 408
inline constexpr std::int64_t write_timeout_ms = 30'000;       // without any progress: closed
inline constexpr std::int64_t linger_timeout_ms = 2'000;       // for a client to read our last words
inline constexpr std::size_t write_bytes_max = 64u << 10;      // of a stream, in one write
inline constexpr std::size_t stream_slice_bytes = 32u << 10;   // of the journal, read at once for a stream
inline constexpr std::size_t stream_send_buffer_bytes = 128u << 10;  // what the kernel holds of a stream
inline constexpr std::int64_t stream_heartbeat_ms = 10'000;
inline constexpr std::int64_t events_page_max = 1'000;  // as JSON; more: 400
inline constexpr std::int64_t events_page_default = 200;
inline constexpr std::size_t events_page_bytes_max = 4u << 20;   // then the page ends early
inline constexpr std::size_t verify_slice_bytes = 1u << 20;      // of the journal, read at once
inline constexpr std::size_t artifact_slice_bytes = 256u << 10;  // larger parts of artifacts are streamed
inline constexpr std::int64_t stream_retry_ms = 2'000;    // what a draining server asks clients to wait
inline constexpr std::size_t scanned_rows_max = 200'000;  // by one usage query; more: 400
inline constexpr std::size_t tools_per_team_max = 1'000;  // more: 422
inline constexpr std::size_t user_id_bytes_max = 255;     // more: 401
inline constexpr std::size_t scopes_max = 64;             // of a user token; more: 401. Of a tool; more: 422
inline constexpr std::size_t scope_bytes_max = 256;       // likewise

// --- hooks and webhooks
// ---------------------------------------------------------------------------------------
inline constexpr std::size_t hooks_max = 16;                     // of an agent; more: 422
inline constexpr std::int64_t hook_timeout_ms = 200;             // then a security hook has refused the call
inline constexpr std::size_t hook_reply_bytes_max = 1u << 20;    // more: as if it had not answered
inline constexpr std::size_t hook_result_bytes_max = 64u << 20;  // likewise, of an answer with a result
inline constexpr std::size_t hook_reason_bytes_max = 300;        // in the event: cut
inline constexpr std::size_t hook_context_bytes_max = 4u << 10;  // of one at `pre_model`; more: likewise
inline constexpr std::int64_t webhook_timeout_ms = 10'000;       // then it is tried again
inline constexpr std::size_t webhook_reply_bytes_max = 64u << 10;     // more: likewise
inline constexpr std::int64_t webhook_retry_min_ms = 5'000;           // after the first failure
inline constexpr std::int64_t webhook_retry_max_ms = 3'600'000;       // doubled each time up to this
inline constexpr std::int64_t webhook_give_up_ms = 3ll * 86'400'000;  // after the event: told to the log
inline constexpr std::size_t webhooks_in_flight_max = 64;             // more wait
inline constexpr std::size_t webhooks_per_endpoint_max = 8;  // of those; more of it wait, not the rest
inline constexpr std::size_t webhooks_looked_at_max =
    1'024;                                             // due ones that a slow receiver's may stand before
inline constexpr std::size_t webhook_secrets_max = 4;  // more: the server does not start

static_assert(webhook_retry_min_ms < webhook_retry_max_ms && webhook_retry_max_ms < webhook_give_up_ms);
// --- identity and authorisation
// -------------------------------------------------------------------------------
inline constexpr std::size_t user_token_bytes_max = 16u << 10;        // more: 400
inline constexpr std::int64_t token_leeway_s = 60;                    // by which two clocks may differ
inline constexpr std::size_t key_set_bytes_max = 256u << 10;          // of a JWKS; more: as if unreachable
inline constexpr std::size_t key_set_keys_max = 100;                  // likewise
inline constexpr std::size_t rsa_key_bits_min = 2'048;                // weaker keys are ignored
inline constexpr std::size_t rsa_key_bits_max = 8'192;                // longer ones too: they cost too much
inline constexpr std::int64_t key_set_timeout_ms = 5'000;             // of a fetch
inline constexpr std::int64_t key_set_fresh_ms = 10 * 60'000;         // older: fetched again, used meanwhile
inline constexpr std::int64_t key_set_patient_ms = 60 * 60'000;       // older: used only if the fetch fails
inline constexpr std::int64_t key_set_stale_max_ms = 24 * 3'600'000;  // older: 503 identity_unavailable
inline constexpr std::int64_t key_set_retry_ms = 1'000;               // after a fetch that failed
inline constexpr std::int64_t key_set_unknown_retry_ms = 60'000;      // between fetches for an unknown key id
inline constexpr std::size_t key_set_waiting_max = 1'000;             // tokens; more: 503
inline constexpr std::size_t exchanged_tokens_max = 10'000;           // kept in memory; more: the oldest goes
inline constexpr std::int64_t exchange_margin_ms = 30'000;           // an exchanged token is given up earlier
inline constexpr std::int64_t exchange_unknown_life_ms = 60'000;     // of one that does not say how long
inline constexpr std::int64_t exchange_timeout_ms = 10'000;          // of the token endpoint
inline constexpr std::size_t exchange_reply_bytes_max = 64u << 10;   // more: the exchange failed
inline constexpr std::size_t decision_reply_bytes_max = 256u << 10;  // more: a denial
inline constexpr std::size_t decision_word_bytes_max = 300;          // of its reason, in the event: cut
inline constexpr std::int64_t decision_metadata_retry_ms = 60'000;   // between two questions for it

static_assert(key_set_fresh_ms < key_set_patient_ms && key_set_patient_ms < key_set_stale_max_ms);

static_assert(inline_bytes_max < blob_file_bytes_min && blob_file_bytes_min < artifact_bytes_max);
static_assert(loop_tools_max > agent_tools_max);
static_assert(schema_depth_max > 2 * (json_depth_max + schema_chain_max));
static_assert(reply_bytes_max >= sse_line_bytes_max);
static_assert(calls_per_reply_max < commit_batch_max);
static_assert(result_cap_tokens_max * bytes_per_token_shown <= inline_bytes_max);

}  // namespace ratchet::limits
