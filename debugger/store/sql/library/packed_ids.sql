-- Purpose: the traces that a segment has something of, as JSON lists.
-- Parameters: none.
-- Columns: ids.
select ids
from packed
order by place
