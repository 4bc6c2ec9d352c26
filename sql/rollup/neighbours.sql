-- The readings next to each probed stretch, none of them known yet.
-- neighbour: series_id, from_ms, to_ms, prev_ms (last reading before it), next_ms (first one after it)
CREATE OR REPLACE TEMP TABLE neighbour AS
SELECT series_id, from_ms, to_ms, NULL::BIGINT AS prev_ms, NULL::BIGINT AS next_ms FROM probe;
