#pragma once
// The one list of stable error codes: what a caller can branch on, the HTTP status it travels with, and a
// title for people. docs/errors.md describes each; a test keeps the two equal. Codes are added, never renamed
// or reused.

// X(code, http_status, title)
#define RATCHET_ERROR_CODES(X)                                                   \
  X(invalid_request, 400, "The request is malformed")                            \
  X(invalid_json, 400, "The body is not valid JSON")                             \
  X(invalid_yaml, 400, "The document is not valid YAML")                         \
  X(unknown_field, 400, "The body has a field that is not known")                \
  X(invalid_id, 400, "The id does not have the right form")                      \
  X(invalid_cursor, 400, "The cursor does not belong to this list")              \
  X(not_supported, 400, "This version does not enforce what was asked for")      \
  X(unauthenticated, 401, "No valid API key was given")                          \
  X(invalid_user_token, 401, "The user token was refused")                       \
  X(forbidden, 403, "The API key does not have the role for this")               \
  X(foreign_origin, 403, "A development server answers only its own host")       \
  X(not_found, 404, "There is no such thing")                                    \
  X(unknown_agent, 404, "There is no such agent")                                \
  X(unknown_tool, 404, "There is no such tool")                                  \
  X(unknown_run, 404, "There is no such run")                                    \
  X(unknown_artifact, 404, "There is no such artifact")                          \
  X(unknown_call, 404, "There is no such call in this run")                      \
  X(unknown_approval, 404, "There is no such approval in this run")              \
  X(unknown_step, 404, "The run has no such step")                               \
  X(method_not_allowed, 405, "The path does not take this method")               \
  X(not_acceptable, 406, "None of the accepted types is offered")                \
  X(request_timeout, 408, "The request did not arrive in time")                  \
  X(conflict, 409, "The state has changed meanwhile")                            \
  X(idempotency_conflict, 409, "The idempotency key was used with another body") \
  X(run_finished, 409, "The run has finished")                                   \
  X(not_paused, 409, "The run does not wait for this")                           \
  X(already_resolved, 409, "The call was resolved otherwise")                    \
  X(already_decided, 409, "The approval was decided otherwise")                  \
  X(expired, 409, "The approval has expired")                                    \
  X(args_changed, 409, "The approval is about other arguments")                  \
  X(stale_lease, 409, "The run is owned by a newer activation")                  \
  X(events_expired, 410, "These events are no longer kept")                      \
  X(too_large, 413, "The body is too large")                                     \
  X(unsupported_media_type, 415, "The body is of a type that is not taken")      \
  X(range_not_satisfiable, 416, "The range lies outside of what there is")       \
  X(invalid_definition, 422, "The definition does not make sense")               \
  X(budget_exceeds_limit, 422, "A budget is above the agent's")                  \
  X(edited_args_refused, 422, "The edited arguments were refused")               \
  X(approval_refused, 422, "The call is not allowed any more")                   \
  X(workspace_refused, 422, "The workspace cannot be recorded")                  \
  X(not_replayable, 422, "The run cannot be replayed this way")                  \
  X(import_refused, 422, "The file is not an export that can be taken")          \
  X(too_many_runs, 429, "Too many runs at once")                                 \
  X(too_many_requests, 429, "Too many requests")                                 \
  X(headers_too_large, 431, "The headers of the request are too large")          \
  X(internal_error, 500, "The server made a mistake")                            \
  X(corrupt, 500, "A stored record is damaged")                                  \
  X(model_unavailable, 502, "The model provider cannot be reached")              \
  X(draining, 503, "The server is shutting down")                                \
  X(store_unavailable, 503, "The journal cannot be written")                     \
  X(sandbox_unavailable, 503, "There is no sandbox for this")                    \
  X(identity_unavailable, 503, "User tokens cannot be verified now")             \
  X(timeout, 504, "It took too long")
