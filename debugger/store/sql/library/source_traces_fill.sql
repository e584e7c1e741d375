-- Purpose: remember which traces each source has something of, before equal rows are merged.
-- Parameters: none.
-- Columns: none that matter.
insert into source_traces
select
    source_id,
    trace_id
from spans
union
select
    source_id,
    trace_id
from logs
where trace_id is not null
