-- Purpose: what a span's context says.
-- Parameters: $trace_id (of the span: a library asks the segment that holds it), $context_id.
-- Columns: resource, scope, context_extra.
select
    resource,
    scope,
    extra as context_extra
from contexts
where context_id = $context_id and $trace_id is not null
order by context_id
