-- Purpose: the ids that are still there more than once.
-- Parameters: none.
-- Columns: trace_id, span_id, path of the latest source.
select
    trace_id,
    span_id,
    arg_max(sources.path, seq) as path
from spans
left join sources using (source_id)
group by trace_id, span_id
having count(*) > 1
order by min(seq)
