-- Purpose: the spans of a trace whose id starts with a text.
-- Parameters: $trace_id, $prefix.
-- Columns: span_id.
select distinct span_id
from spans
where trace_id = $trace_id and starts_with(span_id, $prefix)
order by span_id
