-- Purpose: of spans that are the same in every column, delete all but the first.
-- Parameters: none.
-- Columns: none that matter.
-- Cost: one pass over ids; wide texts are compared for repeated ids only, by digest, since sorting them is dear.
delete from spans
where
    seq in (
        select seq
        from spans
        semi join (
            select trace_id, span_id
            from spans
            group by trace_id, span_id
            having count(*) > 1
        ) as repeated using (trace_id, span_id)
        qualify
            row_number() over (
                partition by
                    trace_id,
                    span_id,
                    parent_span_id,
                    name,
                    otel_kind,
                    start_unix_nano,
                    end_unix_nano,
                    status_code,
                    status_message,
                    context_id,
                    md5(attributes),
                    md5(events),
                    md5(links),
                    extra
                order by seq
            )
            > 1
    )
