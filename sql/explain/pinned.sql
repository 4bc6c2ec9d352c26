-- Midnights of a traced lifetime register ($series_id) that a daily register beside it tells.
SELECT t0::DOUBLE AS t0, c0, t1::DOUBLE AS t1, c1, midnight_ms::DOUBLE AS midnight_ms, midnight_value FROM midnight_anchor WHERE series_id = $series_id;
