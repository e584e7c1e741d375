-- Purpose: the spans that hold a text anywhere: in their attributes, events, links, status, other fields or log records.
-- Parameters: $trace_id (null: all traces), $needles (the text in lower case, in every way it may stand in JSON).
-- Columns: trace_id, seq; a span once, however often it holds the text. Cost: reads all texts of the trace.
with holding as (
    select distinct logs.span_id
    from logs
    where ($trace_id is null or logs.trace_id = $trace_id)
        and len(list_filter(
            $needles, lambda needle: contains(lower(concat_ws(' ', logs.event_name, logs.body, logs.attributes)), needle)
        )) > 0
)
select spans.trace_id, spans.seq
from spans
where ($trace_id is null or spans.trace_id = $trace_id)
    and (
        len(list_filter(
            $needles,
            lambda needle: contains(
                lower(concat_ws(' ', spans.name, spans.status_message, spans.attributes, spans.events, spans.links, spans.extra)),
                needle
            )
        )) > 0
        or spans.span_id in (select holding.span_id from holding)
    )
order by spans.trace_id, spans.seq
