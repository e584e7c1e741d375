-- Purpose: the library's SQLite file: what was loaded, what users say, and which segments count. Everything that is
-- published goes in by one transaction of this file.
create table segment (
    name text primary key,
    position integer not null,
    live integer not null,
    spans integer not null,
    bytes integer not null
);
create table file (
    file_id integer primary key,
    kind text not null,
    path text not null,
    size integer,
    stamp text,
    digest text,
    reader text not null,
    position integer not null,
    is_whole integer not null,
    loaded_unix_nano integer not null
);
create index file_size on file (size);
create table issue (
    issue_id integer primary key,
    path text not null,
    line integer,
    reason text not null
);
create table removed (
    trace_id text primary key,
    position integer not null,
    removed_unix_nano integer not null
);
create table state (
    position integer not null
);
insert into state values (0);
