-- 20 Trace: computes the day again with the roll-up's own chapters, from 30 on, without storing anything.
--
-- Reads   series_rule, day_candidate, day_contradiction (temporary, of the roll-up); reported_interval,
--         interval_energy.
-- Writes  requested_time, touched_day (temporary: the input of the roll-up's chapters).
-- Why     If the explanation had rules of its own, it could differ from the computation.

-- name: request_day
-- Requests the day ($start_ms, $end_ms) of every series of a device ($device) and source ($source).
-- requested_time: series_id, from_ms, to_ms, is_new
CREATE OR REPLACE TEMP TABLE requested_time AS
SELECT series_id, $start_ms::BIGINT AS from_ms, $end_ms::BIGINT - 1 AS to_ms, false AS is_new
FROM series_rule WHERE device = $device::UUID AND source = $source;

-- name: touch_day
-- Adds the day of a device and source to touched_day, for rollup/collect_candidates.
INSERT INTO touched_day (device, source, day, start_ms, end_ms)
VALUES ($device::UUID, $source, $day::DATE, $start_ms::BIGINT, $end_ms::BIGINT);

-- name: read_candidates
-- Returns the candidates of the traced day of a source ($source): see rollup/collect_candidates.
SELECT stream_id, series_id, energy_wh::DOUBLE AS energy_wh, covered_ms::DOUBLE AS covered_ms, coverage,
  preference::INTEGER AS preference
FROM day_candidate WHERE source = $source ORDER BY preference;

-- name: read_contradictions
-- Returns the other methods that contradict the chosen one on the explained day of a source ($source).
SELECT stream_id, energy_wh::DOUBLE AS energy_wh FROM day_contradiction WHERE source = $source ORDER BY stream_id;

-- name: find_intervals
-- Returns the reported intervals of a series ($series_id) in a day ($start_ms, $end_ms), in order. A
-- corrected interval replaces the measured one.
-- Columns:
--   start_ms, energy_wh
--   exact_nwh   billionths of a Wh; null for registers and corrected intervals
--   covered_ms, flags
SELECT reported_interval.interval_start_ms::DOUBLE AS start_ms, reported_interval.energy_wh::DOUBLE AS energy_wh,
  CASE
    WHEN reported_interval.flags & flag('corrected') = 0 THEN interval_energy.exact_nwh
  END AS exact_nwh,
  reported_interval.covered_ms, reported_interval.flags
FROM reported_interval
LEFT JOIN interval_energy
  ON interval_energy.series_id = reported_interval.series_id
  AND interval_energy.interval_start_ms = reported_interval.interval_start_ms
WHERE reported_interval.series_id = $series_id AND reported_interval.interval_start_ms >= $start_ms::BIGINT
  AND reported_interval.interval_start_ms < $end_ms::BIGINT
ORDER BY reported_interval.interval_start_ms;
