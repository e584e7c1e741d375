-- Purpose: the traces of an older segment, attached as "old", that some files have something of.
-- Parameters: $file_ids.
-- Columns: trace_id.
select distinct trace_id
from old.source_traces
inner join old.sources using (source_id)
where list_contains($file_ids, file_id)
order by trace_id
