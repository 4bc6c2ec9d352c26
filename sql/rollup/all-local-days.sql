-- Notes every day that may have or had energy, of every device and source: those of its readings, and one more on either side, because an
-- interval may lie before or after its reading.
INSERT INTO touched_day
SELECT n.device, n.source, n.day, coalesce(d.start_ms, 0) AS start_ms, coalesce(d.end_ms, 0) AS end_ms
FROM (
  SELECT device, source, day FROM daily_energy
  UNION
  SELECT s.device, s.source, d.day
  FROM series s JOIN local_day d ON d.end_ms > s.first_ms - 86400000 AND d.start_ms <= s.last_ms + 86400000
) AS n
LEFT JOIN local_day d USING (day)
EXCEPT SELECT * FROM touched_day;
