-- The number of the next backfill. Columns: backfill_id.
SELECT coalesce(max(backfill_id), 0) + 1 AS backfill_id FROM backfill;
