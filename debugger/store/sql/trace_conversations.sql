-- Purpose: the conversation that each trace belongs to, where its spans name one; the first one by start.
-- Parameters: none.
-- Columns: trace_id, conversation. Cost: reads all attributes.
with named as (
    select
        trace_id,
        start_unix_nano,
        seq,
        regexp_extract(
            attributes,
            '"key":\s*"(?:gen_ai\.conversation\.id|session\.id|langfuse\.session\.id|mlflow\.trace\.session)",\s*"value":\s*\{"stringValue":\s*"((?:[^"\\]|\\.)*)"',
            1
        ) as conversation
    from spans
    where contains(attributes, '.conversation.id"')
        or contains(attributes, 'session')
)
select trace_id, arg_min(conversation, (coalesce(start_unix_nano, 0), seq)) as conversation
from named
where conversation != ''
group by trace_id
order by trace_id
