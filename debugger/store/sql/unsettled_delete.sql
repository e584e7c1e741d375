-- Purpose: forget what spans were by themselves, of the traces that got new spans.
-- Parameters: $first_seq (of the new spans).
-- Columns: none that matter.
delete from unsettled
where trace_id in (select fresh.trace_id from spans as fresh where fresh.seq >= $first_seq)
