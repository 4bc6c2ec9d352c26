-- The intervals to be computed, as stretches whose own neighbours are needed.
-- probe: as in probe-touched
CREATE OR REPLACE TEMP TABLE probe AS
SELECT series_id, lo_ms - pad_ms AS from_ms, hi_ms + pad_ms - 1 AS to_ms, first_ms FROM probe_context;
