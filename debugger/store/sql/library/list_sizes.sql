-- Purpose: how many traces the lists of a segment hold, to tell whether their ready texts are whole.
-- Parameters: none.
-- Columns: ids, traces.
select
    (select count(*) from ids) as ids,
    (select count(*) from summary) as traces
