-- Purpose: the log records of one trace, or of one span of it, in the order of time; equal times in the order of input.
-- Parameters: $trace_id, $span_id (null: all spans of the trace).
-- Columns: span_id, then the arguments of importers.log_record.
select
    logs.span_id,
    logs.event_name,
    logs.time_unix_nano,
    logs.severity,
    logs.body,
    logs.attributes,
    contexts.scope_name
from logs
inner join contexts using (context_id)
where logs.trace_id = $trace_id and ($span_id is null or logs.span_id = $span_id)
order by logs.time_unix_nano nulls last, logs.seq
