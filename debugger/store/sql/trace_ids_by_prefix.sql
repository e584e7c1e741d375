-- Purpose: the traces whose id starts with a text.
-- Parameters: $prefix.
-- Columns: trace_id.
select distinct trace_id
from spans
where starts_with(trace_id, $prefix)
order by trace_id
