-- Where high-water marks give way. $sunk: JSON array of objects with the columns of sunk.
-- sunk: series_id, t (a reading that is further below its mark than its jitter)
CREATE OR REPLACE TEMP TABLE sunk AS
SELECT unnest(from_json($sunk::JSON, '[{"series_id":"INTEGER","t":"BIGINT"}]'), recursive := true);
