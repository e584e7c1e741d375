-- Purpose: what a store in memory has beside its tables: the name under which queries over several files find spans.
-- Parameters: none.
create schema below;
create view below.all_spans as
select *
from spans;
