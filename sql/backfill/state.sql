-- What the ledger says of a backfill. Columns: state, note.
SELECT state, note FROM backfill WHERE backfill_id = $backfill_id::BIGINT;
