-- Purpose: the spans of the traces in which two spans may be one call, narrow, in the order of time.
-- Parameters: $first_seq (only traces that have a span from there on).
-- Columns: seq, trace_id, then the fields of conventions.Narrow.
-- Suspected: a call below a call of its own kind, in whatever depth; calls of one kind from several instrumentations.
with fresh as (
    select distinct trace_id
    from spans
    where seq >= $first_seq
),
counted as (
    select
        spans.trace_id,
        bool_or(spans.kind in ('llm', 'embedding') and below.span_id is not null) as is_nested,
        count(*) filter (spans.kind = 'agent')
        - count(distinct lower(coalesce(spans.agent_name, spans.span_id))) filter (spans.kind = 'agent') as same_agents,
        count(distinct spans.context_id) filter (spans.kind in ('agent', 'llm', 'tool')) as sources,
        bool_or(spans.convention = 'logfire') as is_logfire
    from spans
    semi join fresh using (trace_id)
    left join (
        select distinct
            trace_id,
            parent_span_id as span_id
        from spans
        where parent_span_id is not null
    ) as below on below.trace_id = spans.trace_id and below.span_id = spans.span_id
    group by spans.trace_id
),
suspected as (
    select trace_id
    from counted
    where is_nested or same_agents > 0 or sources > 1 or is_logfire
)
select
    seq,
    trace_id,
    span_id,
    parent_span_id,
    kind,
    convention,
    name,
    contexts.scope_name,
    start_unix_nano,
    end_unix_nano,
    agent_name,
    provider,
    model,
    tool_name,
    input_tokens,
    output_tokens,
    cost_nano_usd
from spans
inner join contexts using (context_id)
semi join suspected using (trace_id)
order by trace_id, start_unix_nano nulls last, run_id nulls last, start_seq nulls last, seq
