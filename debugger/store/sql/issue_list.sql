-- Purpose: what was odd about the input, in the order in which it was met.
-- Parameters: none.
-- Columns: those of rows.IssueRow.
select path, line, reason
from issues
order by issue_id
