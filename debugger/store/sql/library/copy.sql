-- Purpose: copy the traces of the table "wanted" from an older segment, attached as "old"; equal contexts become one.
-- Parameters: none.
create or replace temp table context_map as
select
    theirs.context_id as old_id,
    coalesce(mine.context_id, theirs.context_id) as new_id,
    mine.context_id is null as is_new
from old.contexts as theirs
left join contexts as mine
    on
        mine.resource = theirs.resource
        and mine.scope = theirs.scope
        and mine.extra is not distinct from theirs.extra
where
    theirs.context_id in (select context_id from old.spans semi join wanted using (trace_id))
    or theirs.context_id in (select context_id from old.logs semi join wanted using (trace_id));
insert into contexts
select theirs.*
from old.contexts as theirs
inner join context_map on theirs.context_id = context_map.old_id
where context_map.is_new;
insert into spans
select theirs.* replace (context_map.new_id as context_id)
from old.spans as theirs
semi join wanted using (trace_id)
inner join context_map on theirs.context_id = context_map.old_id
order by theirs.seq;
insert into logs
select theirs.* replace (context_map.new_id as context_id)
from old.logs as theirs
semi join wanted using (trace_id)
inner join context_map on theirs.context_id = context_map.old_id
order by theirs.seq;
insert into unsettled
select theirs.*
from old.unsettled as theirs
semi join wanted using (trace_id);
insert into sources
select theirs.*
from old.sources as theirs
where
    theirs.source_id in (select source_id from old.source_traces semi join wanted using (trace_id))
    and theirs.source_id not in (select source_id from sources);
insert into source_traces
select theirs.*
from old.source_traces as theirs
semi join wanted using (trace_id);
delete from wanted;
