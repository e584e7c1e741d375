-- What failed, the latest first
select
    started,
    kind,
    name,
    error_type,
    error_message,
    trace_id,
    span_id
from spans
where is_error
order by started desc nulls last, span_id
