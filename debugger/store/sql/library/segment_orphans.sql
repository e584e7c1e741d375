-- Purpose: log records that belong to no span, by trace and file.
-- Parameters: none.
-- Columns: trace_id, path, records, traces.
select
    trace_id,
    path,
    records,
    traces
from orphans
order by path, trace_id
