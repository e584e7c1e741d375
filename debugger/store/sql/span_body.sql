-- Purpose: the whole spans that share one id, mostly one. Without their contexts: a join takes a quarter of the time.
-- Parameters: $trace_id, $span_id.
-- Columns: those of span_bodies up to extra, then context_id.
select
    seq,
    trace_id,
    span_id,
    parent_span_id,
    name,
    otel_kind,
    start_unix_nano,
    end_unix_nano,
    status_code,
    status_message,
    attributes,
    events,
    links,
    extra,
    context_id
from spans
where trace_id = $trace_id and span_id = $span_id
order by start_unix_nano nulls last, run_id nulls last, start_seq nulls last, seq
