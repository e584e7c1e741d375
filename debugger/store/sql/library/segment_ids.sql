-- Purpose: the traces that a segment has something of.
-- Parameters: none.
-- Columns: trace_id.
select trace_id
from ids
order by trace_id
