-- Purpose: the ids that one load met in several files, with these files.
-- Parameters: $first_seq (of the rows of this load).
-- Columns: trace_id, span_id, the first path, the last path.
select
    trace_id,
    span_id,
    arg_min(sources.path, seq) as first_path,
    arg_max(sources.path, seq) as last_path
from spans
inner join sources using (source_id)
where seq >= $first_seq
group by trace_id, span_id
having count(distinct source_id) > 1
order by min(seq)
