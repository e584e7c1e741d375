-- Purpose: how many runs, how long, how often failed, of each agent, and what its own model calls used.
-- Parameters: as in numbers_of_calls.
-- Columns: those of rows.NumbersRow. A model call is that of the nearest agent above it, at most 64 spans up, so that it
--   counts once; what agents report themselves would repeat it.
with recursive chosen as (
    select
        trace_id,
        span_id,
        parent_span_id,
        kind,
        name,
        agent_name,
        start_unix_nano,
        end_unix_nano,
        status_code,
        error_type,
        input_tokens,
        output_tokens,
        cost_nano_usd
    from below.all_spans
    where ($trace_ids::varchar[] is null or trace_id in (select unnest($trace_ids::varchar[])))
        and trace_id not in (select unnest($without::varchar[]))
),
climb as (
    select
        trace_id,
        parent_span_id as above,
        input_tokens,
        output_tokens,
        cost_nano_usd,
        0 as steps
    from chosen
    where kind in ('llm', 'embedding')
    union all
    select
        climb.trace_id,
        chosen.parent_span_id,
        climb.input_tokens,
        climb.output_tokens,
        climb.cost_nano_usd,
        climb.steps + 1
    from climb
    join chosen on chosen.trace_id = climb.trace_id and chosen.span_id = climb.above
    where chosen.kind <> 'agent' and climb.steps < 64
),
used as (
    select
        coalesce(chosen.agent_name, chosen.name) as name,
        sum(climb.input_tokens)::hugeint as input_tokens,
        sum(climb.output_tokens)::hugeint as output_tokens,
        sum(climb.cost_nano_usd)::hugeint as cost_nano_usd
    from climb
    join chosen on chosen.trace_id = climb.trace_id and chosen.span_id = climb.above and chosen.kind = 'agent'
    group by 1
),
runs as (
    select
        coalesce(agent_name, name) as name,
        count(*) as calls,
        count(*) filter (status_code = 2 or error_type is not null) as errors,
        quantile_disc(greatest(end_unix_nano - start_unix_nano, 0), [0.5, 0.9, 0.95, 0.99]) as percentiles,
        max(greatest(end_unix_nano - start_unix_nano, 0)) as longest_ns,
        sum(greatest(end_unix_nano - start_unix_nano, 0))::hugeint as total_ns,
        histogram(greatest(end_unix_nano - start_unix_nano, 0), $edges::bigint[]) as spread
    from chosen
    where kind = 'agent' and $by = 'agent'
    group by 1
)
select
    runs.name,
    runs.calls,
    runs.errors,
    runs.percentiles,
    runs.longest_ns,
    runs.total_ns,
    used.input_tokens,
    used.output_tokens,
    used.cost_nano_usd,
    runs.spread
from runs
left join used on used.name = runs.name
order by runs.calls desc, runs.name
