-- Purpose: what a whole segment knows about itself; nothing is added to it after that.
-- Parameters: none. The table "summary" is made of the query "trace_list".
delete from repeated;
insert into repeated
select
    trace_id,
    span_id,
    arg_max(sources.path, seq) as path,
    count(*) as versions
from spans
left join sources using (source_id)
group by trace_id, span_id
having count(*) > 1;
create table ids as
select trace_id
from spans
union
select trace_id
from logs
where trace_id is not null
order by trace_id;
create table orphans as
select
    logs.trace_id,
    sources.path,
    count(*) as records,
    count(logs.trace_id) as traces
from logs
inner join sources using (source_id)
where not exists (
    select 1
    from spans
    where spans.trace_id = logs.trace_id and spans.span_id = logs.span_id
)
group by logs.trace_id, sources.source_id, sources.path
order by sources.source_id, logs.trace_id;
drop table wanted;
drop table settled;
drop table issues;
