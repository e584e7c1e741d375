-- Purpose: how many spans a trace has.
-- Parameters: $trace_id.
-- Columns: spans.
select count(*) as spans
from spans
where trace_id = $trace_id
order by spans
