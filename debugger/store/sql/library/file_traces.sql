-- Purpose: the traces of a segment that some files have something of.
-- Parameters: $file_ids.
-- Columns: trace_id.
select distinct trace_id
from source_traces
inner join sources using (source_id)
where list_contains($file_ids, file_id)
order by trace_id
