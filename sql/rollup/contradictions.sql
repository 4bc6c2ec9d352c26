-- Methods that contradict the one that a day is read from: one has measured more than twice what the other has, and more than a kWh more,
-- in no more time (a tenth is allowed for). Which of them is right cannot be known, unless a third that covers the day agrees with the chosen one.
-- day_contradiction: device, source, day, stream_id, energy_wh (of the other)
CREATE OR REPLACE TEMP TABLE day_contradiction AS
SELECT device, source, day, stream_id, energy_wh
FROM (
  SELECT *, bool_or(NOT contradicts AND covered_ms >= 0.9 * chosen_ms) OVER (PARTITION BY device, source, day) AS agreed
  FROM (
    SELECT device, source, day, other.stream_id, other.energy_wh, other.covered_ms, chosen.covered_ms AS chosen_ms,
      (other.energy_wh > 2 * chosen.energy_wh + 1000 AND other.covered_ms <= 1.1 * chosen.covered_ms)
        OR (chosen.energy_wh > 2 * other.energy_wh + 1000 AND chosen.covered_ms <= 1.1 * other.covered_ms) AS contradicts
    FROM (SELECT * FROM day_candidate WHERE place > 1) AS other
    JOIN (SELECT * FROM day_candidate WHERE place = 1) AS chosen USING (device, source, day)
  )
)
WHERE contradicts AND NOT agreed;
