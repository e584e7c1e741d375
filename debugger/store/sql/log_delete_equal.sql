-- Purpose: of log records that are the same in every column, delete all but the first.
-- Parameters: none.
-- Columns: none that matter.
delete from logs
where
    seq in (
        select seq
        from logs
        qualify
            row_number() over (
                partition by
                    trace_id,
                    span_id,
                    event_name,
                    time_unix_nano,
                    severity,
                    context_id,
                    md5(body),
                    md5(attributes),
                    extra
                order by seq
            )
            > 1
    )
