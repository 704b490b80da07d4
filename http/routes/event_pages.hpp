#pragma once
// A run's events as a page of JSON, with those of the runs below it where they are asked for.
//
// A page goes on by the run's own seq, so the events of a run below stand where that cannot tear them apart:
// all of them before the `subagent.finished` that tells of its end, or, while it goes on, those so far at the
// end of the last page. Each of them has its `run_id`.

#include "http/routes/route.hpp"
#include "http/server/event_stream.hpp"

namespace ratchet {

/// `items_max` are the run's own; those of runs below come on top, up to limits::events_page_max in all, and
/// what is left out then is said. Errors: those of reading the run.
Result<Response> events_page(Api& api, const EventSelection& selection, std::size_t items_max);

}  // namespace ratchet
