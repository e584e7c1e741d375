-- Purpose: the views that a query of the user can name, with their columns, for completion and the schema browser.
-- Parameters: none.
-- Columns: table_name, column_name, data_type; in the order of the views' names and of their columns.
select
    table_name,
    column_name,
    data_type
from duckdb_columns()
where database_name = 'memory'
    and schema_name = 'main'
    and not internal
order by table_name, column_index
