-- Purpose: how large the trace of a span is, and what the span was settled to be.
-- Parameters: $trace_id, $span_id.
-- Columns: spans, kind.
select
    (select count(*) from spans where trace_id = $trace_id) as spans,
    kind
from spans
where trace_id = $trace_id and span_id = $span_id
order by start_unix_nano nulls last, run_id nulls last, start_seq nulls last, seq
