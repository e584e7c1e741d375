-- Purpose: from version 1 to 2: spool files may be packed, and are known by their place in the library's folder.
-- A file with a "pack_id" is a part of that other file, which holds the same bytes.
alter table file add column pack_id integer;
create index file_path on file (path);
update file
set path = 'spool/' || replace(path, rtrim(path, replace(path, '/', '')), '')
where kind = 'spool';
