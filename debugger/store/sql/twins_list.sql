-- Purpose: the ids that are there more than once, of the traces that got new rows.
-- Parameters: $first_seq (of the new rows).
-- Columns: trace_id, span_id, path of the latest source.
select
    trace_id,
    span_id,
    arg_max(sources.path, seq) as path
from spans
left join sources using (source_id)
group by trace_id, span_id
having count(*) > 1 and max(seq) >= $first_seq
order by min(seq)
