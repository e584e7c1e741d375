-- Purpose: how many, how long, how often failed, tokens and cost of calls, by model or by tool.
-- Parameters: $trace_ids (null: all traces), $without (traces that do not count), $by ('model' or 'tool'),
--   $edges (nanoseconds, ascending: upper ends of the classes that durations are counted in).
-- Columns: those of rows.NumbersRow. Models are asked by llm and embedding calls, tools are tools and retrievers.
-- A percentile is a time that some call really took.
select
    case $by when 'model' then model else coalesce(tool_name, name) end as name,
    count(*) as calls,
    count(*) filter (status_code = 2 or error_type is not null) as errors,
    quantile_disc(greatest(end_unix_nano - start_unix_nano, 0), [0.5, 0.9, 0.95, 0.99]) as percentiles,
    max(greatest(end_unix_nano - start_unix_nano, 0)) as longest_ns,
    sum(greatest(end_unix_nano - start_unix_nano, 0))::hugeint as total_ns,
    sum(input_tokens)::hugeint as input_tokens,
    sum(output_tokens)::hugeint as output_tokens,
    sum(cost_nano_usd)::hugeint as cost_nano_usd,
    histogram(greatest(end_unix_nano - start_unix_nano, 0), $edges::bigint[]) as spread
from below.all_spans
where ($trace_ids::varchar[] is null or trace_id in (select unnest($trace_ids::varchar[])))
    and trace_id not in (select unnest($without::varchar[]))
    and case $by when 'model' then kind in ('llm', 'embedding') else kind in ('tool', 'retriever') end
group by 1
order by calls desc, 1
