-- Purpose: put the sum of several unfinished versions into the first one's row.
-- Parameters: $seq, $attributes, $events, $status_code, $status_message, and the promoted columns of the sum.
-- Columns: none that matter.
update spans
set
    attributes = $attributes,
    events = $events,
    status_code = $status_code,
    status_message = $status_message,
    kind = $kind,
    convention = $convention,
    error_type = $error_type,
    agent_name = $agent_name,
    provider = $provider,
    model = $model,
    tool_name = $tool_name,
    input_tokens = $input_tokens,
    output_tokens = $output_tokens,
    cost_nano_usd = $cost_nano_usd,
    run_id = $run_id,
    start_seq = $start_seq,
    origin_trace_id = $origin_trace_id
where seq = $seq
