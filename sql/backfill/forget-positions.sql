-- A backfill that was cancelled needs no positions any more.
DELETE FROM checkpoint WHERE starts_with(origin, 'backfill:' || $backfill_id::BIGINT || ':');
