-- Purpose: the model calls that may be one call of two traces, narrow, in the order of time.
-- Parameters: $first_seq (only where such calls came in from there on).
-- Columns: seq, trace_id, then the fields of conventions.Narrow.
-- Suspected: where Anthropic's SDK or Logfire wrote calls that nothing encloses, those and all that overlap them.
with calls as (
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
        cost_nano_usd,
        starts_with(contexts.scope_name, 'com.anthropic.sdk.') as is_sdk
    from spans
    inner join contexts using (context_id)
    where kind = 'llm'
),
marked as (
    select
        min(start_unix_nano) as first_start,
        max(start_unix_nano) as last_start
    from calls
    where
        seq >= $first_seq
        and ((is_sdk and parent_span_id is null) or starts_with(lower(name), 'streaming response from'))
)
select calls.* exclude (is_sdk)
from calls
inner join marked on calls.start_unix_nano between greatest(marked.first_start, 0) - 600_000_000_000 and marked.last_start
where parent_span_id is null or is_sdk
order by start_unix_nano, seq
