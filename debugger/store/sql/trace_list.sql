-- Purpose: one row per trace, newest first.
-- Parameters: none.
-- Columns: those of rows.TraceRow.
-- A duration that fits in no column is none: of years before importers bounded their times.
-- Tokens and cost are summed over llm and embedding calls only: what agents report repeats their calls.
with placed as (
    select
        *,
        {
            'late': start_unix_nano is null,
            'start': start_unix_nano,
            'emitted': start_seq,
            'seq': seq
        } as place
    from spans
),
summed as (
    select
        trace_id,
        arg_min(name, place) filter (parent_span_id is null) as root_name,
        arg_min(name, place) as first_name,
        arg_min(context_id, place) filter (parent_span_id is null) as root_context,
        arg_min(context_id, place) as first_context,
        arg_min(source_id, seq) as source_id,
        min(start_unix_nano) as start_unix_nano,
        min(least(start_unix_nano, end_unix_nano)) as first_time,
        max(greatest(start_unix_nano, end_unix_nano)) as last_time,
        count(*) as spans,
        count(*) filter (kind = 'llm') as llm_calls,
        count(*) filter (kind = 'tool') as tool_calls,
        count(*) filter (kind = 'agent') as agents,
        count(*) filter (status_code = 2 or error_type is not null) as errors,
        count(*) filter (end_unix_nano is null) as unfinished,
        sum(input_tokens) filter (kind in ('llm', 'embedding'))::hugeint as input_tokens,
        sum(output_tokens) filter (kind in ('llm', 'embedding'))::hugeint as output_tokens,
        sum(cost_nano_usd) filter (kind in ('llm', 'embedding'))::hugeint as cost_nano_usd,
        max(origin_trace_id) as origin_trace_id
    from placed
    group by trace_id
)
select
    summed.trace_id,
    coalesce(root_name, first_name) as name,
    coalesce(root.service, first.service) as service,
    start_unix_nano,
    try_cast(last_time::hugeint - first_time as bigint) as duration_ns,
    spans,
    llm_calls,
    tool_calls,
    agents,
    errors,
    unfinished,
    input_tokens,
    output_tokens,
    cost_nano_usd,
    origin_trace_id,
    sources.path as source
from summed
left join contexts as root on root.context_id = summed.root_context
left join contexts as first on first.context_id = summed.first_context
left join sources using (source_id)
order by start_unix_nano desc nulls last, trace_id
