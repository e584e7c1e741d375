-- Tools: how often, how long, failures
select
    tool_name,
    count(*) as calls,
    count(*) filter (is_error) as failed,
    round(quantile_cont(duration_ns, 0.5) / 1e6, 1) as p50_ms,
    round(quantile_cont(duration_ns, 0.95) / 1e6, 1) as p95_ms
from calls
where kind = 'tool'
group by tool_name
order by calls desc, tool_name
