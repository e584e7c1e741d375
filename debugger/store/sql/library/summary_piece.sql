-- Purpose: some rows of the trace list of a segment under construction, newest first.
-- Parameters: $first, $end (places in the list, in whose order the table was made).
-- Columns: those of rows.TraceRow; the sums, which may be wider than 64 bits, as text.
select
    * replace (
        input_tokens::varchar as input_tokens,
        output_tokens::varchar as output_tokens,
        cost_nano_usd::varchar as cost_nano_usd
    )
from summary
where rowid >= $first and rowid < $end
order by start_unix_nano desc nulls last, trace_id
