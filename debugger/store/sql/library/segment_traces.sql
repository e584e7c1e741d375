-- Purpose: the trace list of a segment, newest first.
-- Parameters: none.
-- Columns: those of rows.TraceRow; the sums, which may be wider than 64 bits, as text.
select
    * replace (
        input_tokens::varchar as input_tokens,
        output_tokens::varchar as output_tokens,
        cost_nano_usd::varchar as cost_nano_usd
    )
from summary
order by start_unix_nano desc nulls last, trace_id
