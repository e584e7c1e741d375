-- Purpose: the files that have something of some traces of a segment.
-- Parameters: $trace_ids.
-- Columns: file_id.
select distinct file_id
from source_traces
inner join sources using (source_id)
where list_contains($trace_ids, trace_id)
order by file_id
