-- Purpose: the tables of a store. Narrow columns first, wide texts last; wide texts are OTLP/JSON, as they came.
-- Parameters: none.
-- No key and no index: a constraint would throw away a whole batch, and row groups are found by their ranges.
create table spans (
    seq bigint not null,
    trace_id varchar not null,
    span_id varchar not null,
    parent_span_id varchar,
    name varchar not null,
    otel_kind integer not null,
    start_unix_nano bigint,
    end_unix_nano bigint,
    status_code integer not null,
    status_message varchar not null,
    kind varchar not null,
    convention varchar,
    error_type varchar,
    agent_name varchar,
    provider varchar,
    model varchar,
    tool_name varchar,
    input_tokens bigint,
    output_tokens bigint,
    cost_nano_usd bigint,
    run_id varchar,
    start_seq bigint,
    origin_trace_id varchar,
    context_id bigint not null,
    source_id bigint not null,
    attributes varchar not null using compression zstd,
    events varchar using compression zstd,
    links varchar using compression zstd,
    extra varchar using compression zstd
);
create table logs (
    seq bigint not null,
    trace_id varchar,
    span_id varchar,
    event_name varchar not null,
    time_unix_nano bigint,
    severity integer not null,
    body varchar using compression zstd,
    attributes varchar not null using compression zstd,
    extra varchar using compression zstd,
    context_id bigint not null,
    source_id bigint not null
);
create table contexts (
    context_id bigint not null,
    service varchar,
    scope_name varchar not null,
    scope_version varchar not null,
    resource varchar not null,
    scope varchar not null,
    extra varchar
);
create table sources (
    source_id bigint not null,
    path varchar not null,
    file_id bigint
);
create table issues (
    issue_id bigint not null,
    path varchar not null,
    line bigint,
    reason varchar not null
);
create table settled (
    seq bigint not null,
    kind varchar not null,
    agent_name varchar,
    provider varchar,
    model varchar,
    tool_name varchar,
    input_tokens bigint,
    output_tokens bigint,
    cost_nano_usd bigint
);
create table unsettled (
    trace_id varchar not null,
    seq bigint not null,
    kind varchar not null,
    agent_name varchar,
    provider varchar,
    model varchar,
    tool_name varchar,
    input_tokens bigint,
    output_tokens bigint,
    cost_nano_usd bigint
);
create table repeated (
    trace_id varchar not null,
    span_id varchar not null,
    path varchar,
    versions bigint not null
);
