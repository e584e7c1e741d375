-- What users asked
select
    text,
    count(*) as calls,
    any_value(trace_id) as trace_id
from messages
where role = 'user' and direction = 'input'
group by text
order by calls desc, text
limit 200
