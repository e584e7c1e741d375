-- Purpose: the ids that several really different spans share, with the latest file.
-- Parameters: none.
-- Columns: path, span_id, trace_id, versions.
select
    path,
    span_id,
    trace_id,
    versions
from repeated
order by path, trace_id, span_id
