-- Purpose: delete what there is of some traces.
-- Parameters: $trace_ids.
-- Columns: none that matter.
delete from spans
where list_contains($trace_ids, trace_id)
