-- Purpose: the spans of a trace that are no call of their own, since one of another trace stands for them.
-- Parameters: $trace_id.
-- Columns: span_id.
-- It may name some that have their twin in the same trace, too; of those the trace itself tells.
select spans.span_id
from unsettled
inner join spans using (seq)
where
    unsettled.trace_id = $trace_id
    and unsettled.kind = 'llm'
    and spans.kind = 'chain'
order by spans.seq
