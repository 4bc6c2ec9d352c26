-- The silences that are shaped anew.
-- probe: as in probe-touched
CREATE OR REPLACE TEMP TABLE probe AS
SELECT series_id, from_ms, to_ms, from_ms AS first_ms FROM shaped;
