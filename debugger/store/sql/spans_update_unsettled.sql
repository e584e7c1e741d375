-- Purpose: give the spans of the traces that got new spans the facts that they had by themselves.
-- Parameters: $first_seq (of the new spans).
-- Columns: none that matter.
update spans
set
    kind = unsettled.kind,
    agent_name = unsettled.agent_name,
    provider = unsettled.provider,
    model = unsettled.model,
    tool_name = unsettled.tool_name,
    input_tokens = unsettled.input_tokens,
    output_tokens = unsettled.output_tokens,
    cost_nano_usd = unsettled.cost_nano_usd
from unsettled
where
    spans.seq = unsettled.seq
    and spans.trace_id in (select fresh.trace_id from spans as fresh where fresh.seq >= $first_seq)
