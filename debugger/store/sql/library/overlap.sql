-- Purpose: the traces of an older segment that the one under construction has something of, too.
-- Parameters: none. The older segment is attached as "old".
-- Columns: trace_id.
select trace_id
from old.ids
semi join source_traces using (trace_id)
order by trace_id
