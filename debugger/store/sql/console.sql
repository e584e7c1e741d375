-- Purpose: the views of the SQL console, over "issues" and the schema "below" of its own database.
-- Parameters: none.
-- A start that is no time, which older versions took in, has no timestamp: the largest number is infinity to DuckDB.
-- Names and columns of these views are a contract: docs/formats.md. Sums over "calls" of kind llm and embedding count each call once.
create view spans as
select
    trace_id,
    span_id,
    parent_span_id,
    name,
    kind,
    convention,
    service,
    scope_name,
    start_unix_nano,
    end_unix_nano,
    end_unix_nano - start_unix_nano as duration_ns,
    make_timestamp_ns(case when start_unix_nano between 0 and 9223372036854775806 then start_unix_nano end) as started,
    status_code,
    status_message,
    status_code = 2 or error_type is not null as is_error,
    error_type,
    status_message as error_message,
    agent_name,
    provider,
    model,
    tool_name,
    input_tokens,
    output_tokens,
    cost_nano_usd / 1e9 as cost_usd,
    origin_trace_id,
    file,
    attributes::json as attributes,
    events::json as events,
    links::json as links,
    resource::json as resource
from below.all_spans;
create view calls as
select
    trace_id,
    span_id,
    parent_span_id,
    kind,
    coalesce(case kind when 'agent' then agent_name when 'tool' then tool_name when 'llm' then model end, name) as name,
    agent_name,
    provider,
    model,
    tool_name,
    started,
    start_unix_nano,
    duration_ns,
    is_error,
    error_type,
    error_message,
    input_tokens,
    output_tokens,
    cost_usd,
    service
from spans
where kind <> 'other';
create view attributes as
select
    trace_id,
    span_id,
    pair ->> '$.key' as key,
    coalesce(
        pair ->> '$.value.stringValue',
        pair ->> '$.value.intValue',
        pair ->> '$.value.doubleValue',
        pair ->> '$.value.boolValue',
        pair ->> '$.value'
    ) as value
from (
    select
        trace_id,
        span_id,
        unnest(attributes::json[]) as pair
    from spans
);
create view events as
select
    trace_id,
    span_id,
    event ->> '$.name' as name,
    try_cast(event ->> '$.timeUnixNano' as bigint) as time_unix_nano,
    event -> '$.attributes' as attributes
from (
    select
        trace_id,
        span_id,
        unnest(events::json[]) as event
    from spans
    where events is not null
);
create view logs as
select
    trace_id,
    span_id,
    event_name,
    time_unix_nano,
    severity,
    body::json as body,
    attributes::json as attributes
from below.all_logs;
create view messages as
select
    trace_id,
    span_id,
    direction,
    position,
    role,
    text,
    parts
from below.message_uses
inner join below.message_texts using (message_id);
create view traces as
select
    trace_id,
    coalesce(arg_min(name, start_unix_nano) filter (parent_span_id is null), min(name)) as name,
    min(service) as service,
    min(start_unix_nano) as start_unix_nano,
    max(greatest(start_unix_nano, end_unix_nano)) - min(start_unix_nano) as duration_ns,
    count(*) as spans,
    count(*) filter (kind = 'llm') as llm_calls,
    count(*) filter (kind = 'tool') as tool_calls,
    count(*) filter (kind = 'agent') as agents,
    count(*) filter (is_error) as errors,
    (sum(input_tokens) filter (kind in ('llm', 'embedding')))::bigint as input_tokens,
    (sum(output_tokens) filter (kind in ('llm', 'embedding')))::bigint as output_tokens,
    sum(cost_usd) filter (kind in ('llm', 'embedding')) as cost_usd
from spans
group by trace_id;
