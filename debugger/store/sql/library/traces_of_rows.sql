-- Purpose: the traces that a segment under construction has something of.
-- Parameters: none.
-- Columns: trace_id.
select trace_id
from spans
union
select trace_id
from logs
where trace_id is not null
order by trace_id
