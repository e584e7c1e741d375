-- Purpose: the ids that several really different spans of a segment share, with the latest file.
-- Parameters: none.
-- Columns: trace_id, path, span_id, versions.
select
    trace_id,
    path,
    span_id,
    versions
from repeated
order by path, trace_id, span_id
