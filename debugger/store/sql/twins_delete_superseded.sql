-- Purpose: delete the unfinished versions of spans that are there with an end as well.
-- Parameters: none.
-- Columns: none that matter.
delete from spans
where
    end_unix_nano is null
    and (trace_id, span_id) in (select (trace_id, span_id) from spans where end_unix_nano is not null)
