-- Purpose: empty the table "settled".
-- Parameters: none.
-- Columns: none that matter.
delete from settled
