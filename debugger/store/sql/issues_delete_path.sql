-- Purpose: delete what was odd about a file, which is about to be read again.
-- Parameters: $path, as it is shown.
-- Columns: none that matter.
delete from issues
where path = $path
