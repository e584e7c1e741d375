-- Purpose: how large a trace is, to know whether all that its spans mean fits into memory.
-- Parameters: $trace_id.
-- Columns: spans, and the bytes of their attributes and events.
select
    count(*) as spans,
    coalesce(sum(strlen(attributes) + coalesce(strlen(events), 0)), 0)::bigint as bytes
from spans
where trace_id = $trace_id
order by spans
