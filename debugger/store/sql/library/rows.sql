-- Purpose: how many spans a segment under construction holds.
-- Parameters: none.
-- Columns: spans.
select count(*) as spans
from spans
order by spans
