-- Purpose: the tables of a segment that a store in memory does not have.
-- Parameters: none.
-- "wanted" is only there while the segment is built.
create table source_traces (
    source_id bigint not null,
    trace_id varchar not null
);
create table wanted (
    trace_id varchar not null
);
create table packed (
    place bigint not null,
    form varchar not null,
    ids varchar not null,
    traces varchar not null
);
