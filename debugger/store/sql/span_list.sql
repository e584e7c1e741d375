-- Purpose: the narrow rows of one trace, in timeline order.
-- Parameters: $trace_id.
-- Columns: those of rows.SpanRow.
select
    seq,
    trace_id,
    span_id,
    parent_span_id,
    name,
    kind,
    convention,
    start_unix_nano,
    end_unix_nano,
    status_code,
    status_message,
    error_type,
    agent_name,
    provider,
    model,
    tool_name,
    input_tokens,
    output_tokens,
    cost_nano_usd,
    run_id,
    start_seq
from spans
where trace_id = $trace_id
order by start_unix_nano nulls last, run_id nulls last, start_seq nulls last, seq
