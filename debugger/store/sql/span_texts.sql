-- Purpose: the whole spans of one trace as they lie, and what puts them in timeline order.
-- Parameters: $trace_id.
-- Columns: those of span_bodies, run_id, start_seq.
-- Not sorted: the texts of a huge trace would go to the disk and back before the first row came.
select
    spans.seq,
    spans.trace_id,
    spans.span_id,
    spans.parent_span_id,
    spans.name,
    spans.otel_kind,
    spans.start_unix_nano,
    spans.end_unix_nano,
    spans.status_code,
    spans.status_message,
    spans.attributes,
    spans.events,
    spans.links,
    spans.extra,
    contexts.resource,
    contexts.scope,
    contexts.extra as context_extra,
    spans.run_id,
    spans.start_seq
from spans
inner join contexts using (context_id)
where spans.trace_id = $trace_id
