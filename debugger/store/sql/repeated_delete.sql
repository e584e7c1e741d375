-- Purpose: empty the table "repeated".
-- Parameters: none.
-- Columns: none that matter.
delete from repeated
