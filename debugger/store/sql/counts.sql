-- Purpose: how much the store holds.
-- Parameters: none.
-- Columns: spans, traces.
select count(*) as spans, count(distinct trace_id) as traces
from spans
order by spans
