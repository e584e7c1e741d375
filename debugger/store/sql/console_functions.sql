-- Purpose: the functions that a query of the user can call, for completion.
-- Parameters: none.
-- Columns: function_name; once each, by name. What reads files or does something is left out: it is refused.
select distinct function_name
from duckdb_functions()
where regexp_full_match(function_name, '[a-z][a-z0-9_]*')
    and function_type in ('scalar', 'aggregate', 'macro', 'window')
    and schema_name <> 'pg_catalog'
    and function_name not in ('write_log', 'nextval')
order by function_name
