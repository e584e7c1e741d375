-- Purpose: the spans of the traces in which two spans may be one call, narrow, in the order of time.
-- Parameters: $first_seq (only traces that have a span from there on).
-- Columns: seq, trace_id, then the fields of conventions.Narrow.
-- Suspected: a model call with anything below it; an agent twice; calls from several instrumentations; Logfire's streams.
-- Cost: ids are compared by hash, since a trace too many is only looked at in vain.
with fresh as (
    select distinct trace_id
    from spans
    where seq >= $first_seq
),
parents as (
    select distinct hash(trace_id, parent_span_id) as place
    from spans
    where parent_span_id is not null
),
models as (
    select
        trace_id,
        hash(trace_id, span_id) as place
    from spans
    where kind in ('llm', 'embedding')
),
suspected as (
    select trace_id
    from models
    semi join parents using (place)
    union
    select trace_id
    from spans
    where kind = 'agent'
    group by trace_id, regexp_replace(lower(agent_name), '(\.(run|workflow|agent|task|tool))+$', '')
    having count(*) > 1
    union
    select trace_id
    from spans
    where kind in ('agent', 'llm', 'tool')
    group by trace_id
    having min(context_id) < max(context_id) or bool_or(convention = 'logfire')
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
semi join fresh using (trace_id)
order by trace_id, start_unix_nano nulls last, run_id nulls last, start_seq nulls last, seq
