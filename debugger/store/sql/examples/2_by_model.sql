-- Tokens and cost by model
select
    model,
    count(*) as calls,
    sum(input_tokens) as input_tokens,
    sum(output_tokens) as output_tokens,
    round(sum(cost_usd), 4) as cost_usd
from calls
where kind in ('llm', 'embedding')
group by model
order by calls desc, model
