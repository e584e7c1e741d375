-- Purpose: delete what came from one file.
-- Parameters: $file_id.
-- Columns: none that matter.
delete from spans
where source_id in (select source_id from sources where file_id = $file_id)
