-- The intervals to be computed, as stretches whose own neighbours are needed.
-- probe: series_id, from_ms, to_ms
CREATE OR REPLACE TEMP TABLE probe AS
SELECT series_id, lo_ms - pad_ms AS from_ms, hi_ms + pad_ms - 1 AS to_ms FROM probe_context;
