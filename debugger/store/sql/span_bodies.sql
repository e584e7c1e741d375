-- Purpose: the whole spans of a trace that share an id, in timeline order.
-- Parameters: $trace_id, $span_id.
-- Columns: seq, then the fields of importers.RawSpan, the last three being resource, scope and context_extra.
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
    contexts.extra as context_extra
from spans
inner join contexts using (context_id)
where spans.trace_id = $trace_id and spans.span_id = $span_id
order by spans.start_unix_nano nulls last, spans.run_id nulls last, spans.start_seq nulls last, spans.seq
