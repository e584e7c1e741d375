-- Purpose: remember the ids that several really different spans share, with the latest file.
-- Parameters: none.
-- Columns: none that matter.
insert into repeated
select
    trace_id,
    span_id,
    arg_max(sources.path, seq) as path,
    count(*) as versions
from spans
left join sources using (source_id)
group by trace_id, span_id
having count(*) > 1
