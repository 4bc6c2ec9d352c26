-- The whole of the series whose rules have been learnt anew; their readings are as they were.
-- changed: as in changed-readings
CREATE OR REPLACE TEMP TABLE changed AS
SELECT s.series_id, s.first_ms AS from_ms, s.last_ms AS to_ms, false AS is_new FROM relearnt r JOIN series s USING (series_id);
