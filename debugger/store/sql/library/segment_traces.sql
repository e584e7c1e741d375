-- Purpose: the trace list of a segment, newest first.
-- Parameters: none.
-- Columns: those of rows.TraceRow.
select *
from summary
order by start_unix_nano desc nulls last, trace_id
