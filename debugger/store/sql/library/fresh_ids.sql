-- Purpose: the traces that the sources of the segment under construction have something of.
-- Parameters: none.
-- Columns: trace_id.
select distinct trace_id
from source_traces
order by trace_id
