-- Purpose: remember what the spans of the table "settled" were by themselves, so that settling can begin anew.
-- Parameters: none.
-- Columns: none that matter.
insert into unsettled
select
    trace_id,
    seq,
    spans.kind,
    spans.agent_name,
    spans.provider,
    spans.model,
    spans.tool_name,
    spans.input_tokens,
    spans.output_tokens,
    spans.cost_nano_usd
from spans
semi join settled using (seq)
anti join unsettled using (seq)
