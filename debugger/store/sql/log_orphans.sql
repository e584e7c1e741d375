-- Purpose: log records that belong to no span, counted by the file that they came from.
-- Parameters: none.
-- Columns: path, records, traces (how many of them name a trace).
select
    sources.path,
    count(*) as records,
    count(logs.trace_id) as traces
from logs
inner join sources using (source_id)
where not exists (
    select 1
    from spans
    where spans.trace_id = logs.trace_id and spans.span_id = logs.span_id
)
group by sources.source_id, sources.path
order by sources.source_id
