-- The backfill that was asked for with the same words ($request) and has not ended, if there is one.
-- Columns: backfill_id, note.
SELECT backfill_id, note FROM backfill WHERE request = $request AND state = 'running' ORDER BY backfill_id DESC LIMIT 1;
