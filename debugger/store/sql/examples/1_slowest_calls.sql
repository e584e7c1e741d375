-- The slowest model calls
select
    model,
    round(duration_ns / 1e9, 3) as seconds,
    input_tokens,
    output_tokens,
    trace_id,
    span_id
from calls
where kind = 'llm'
order by duration_ns desc nulls last
limit 100
