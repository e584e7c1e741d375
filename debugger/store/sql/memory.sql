-- Purpose: what a store in memory has beside its tables: the name under which queries over several files find spans.
-- Parameters: none.
create view all_spans as
select *
from spans;
