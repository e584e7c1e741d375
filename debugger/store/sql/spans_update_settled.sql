-- Purpose: give the spans that have a twin the facts in the table "settled".
-- Parameters: none.
-- Columns: none that matter.
update spans
set
    kind = settled.kind,
    agent_name = settled.agent_name,
    provider = settled.provider,
    model = settled.model,
    tool_name = settled.tool_name,
    input_tokens = settled.input_tokens,
    output_tokens = settled.output_tokens,
    cost_nano_usd = settled.cost_nano_usd
from settled
where spans.seq = settled.seq
