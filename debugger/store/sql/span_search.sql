-- Purpose: which spans hold some texts anywhere: in attributes, events, links, status, other fields or log records.
-- Parameters: $trace_id (null: all traces), $needles (up to eight texts in lower case, as they may stand in JSON).
-- Columns: trace_id, seq, held (bit i is set where the span holds needle i + 1). Each span that was looked at is a row.
-- Not sorted: the first rows come at once, and their number says how far it is.
-- Cost: reads all texts of the trace, once for all needles.
with logged as (
    select
        logs.trace_id,
        logs.span_id,
        bit_or(logs.held) as held
    from (
        select
            said.trace_id,
            said.span_id,
            (coalesce(contains(said.words, $needles[1]), false)::utinyint << 0)
            | (coalesce(contains(said.words, $needles[2]), false)::utinyint << 1)
            | (coalesce(contains(said.words, $needles[3]), false)::utinyint << 2)
            | (coalesce(contains(said.words, $needles[4]), false)::utinyint << 3)
            | (coalesce(contains(said.words, $needles[5]), false)::utinyint << 4)
            | (coalesce(contains(said.words, $needles[6]), false)::utinyint << 5)
            | (coalesce(contains(said.words, $needles[7]), false)::utinyint << 6)
            | (coalesce(contains(said.words, $needles[8]), false)::utinyint << 7) as held
        from (
            select
                trace_id,
                span_id,
                lower(concat_ws(' ', event_name, body, attributes)) as words
            from logs
            where $trace_id is null or trace_id = $trace_id
        ) as said
    ) as logs
    where logs.held > 0
    group by logs.trace_id, logs.span_id
),
texts as (
    select
        trace_id,
        span_id,
        seq,
        lower(attributes) as wide,
        lower(concat_ws(' ', name, status_message, events, links, extra)) as rest
    from spans
    where $trace_id is null or trace_id = $trace_id
)
select
    texts.trace_id,
    texts.seq,
    coalesce(logged.held, 0)
    | (coalesce(contains(texts.wide, $needles[1]) or contains(texts.rest, $needles[1]), false)::utinyint << 0)
    | (coalesce(contains(texts.wide, $needles[2]) or contains(texts.rest, $needles[2]), false)::utinyint << 1)
    | (coalesce(contains(texts.wide, $needles[3]) or contains(texts.rest, $needles[3]), false)::utinyint << 2)
    | (coalesce(contains(texts.wide, $needles[4]) or contains(texts.rest, $needles[4]), false)::utinyint << 3)
    | (coalesce(contains(texts.wide, $needles[5]) or contains(texts.rest, $needles[5]), false)::utinyint << 4)
    | (coalesce(contains(texts.wide, $needles[6]) or contains(texts.rest, $needles[6]), false)::utinyint << 5)
    | (coalesce(contains(texts.wide, $needles[7]) or contains(texts.rest, $needles[7]), false)::utinyint << 6)
    | (coalesce(contains(texts.wide, $needles[8]) or contains(texts.rest, $needles[8]), false)::utinyint << 7) as held
from texts
left join logged on texts.trace_id = logged.trace_id and texts.span_id = logged.span_id
