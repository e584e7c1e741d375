-- Purpose: the traces that an older segment, attached as "old", has something of.
-- Parameters: none.
-- Columns: trace_id.
select trace_id
from old.ids
order by trace_id
