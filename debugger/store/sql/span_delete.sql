-- Purpose: delete one row.
-- Parameters: $seq.
-- Columns: none that matter.
delete from spans
where seq = $seq
