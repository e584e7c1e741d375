-- Purpose: the trace list of a segment, newest first, as JSON lists of rows.TraceRow.
-- Parameters: $form (the fields of a row).
-- Columns: traces.
select traces
from packed
where form = $form
order by place
