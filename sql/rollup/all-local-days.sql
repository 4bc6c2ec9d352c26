-- Notes every day that has or had energy, of every device and source.
INSERT INTO touched_day
SELECT n.device, n.source, n.day, coalesce(d.start_ms, 0) AS start_ms, coalesce(d.end_ms, 0) AS end_ms
FROM (
  SELECT device, source, day FROM daily_energy
  UNION
  SELECT s.device, s.source, d.day
  FROM interval_energy i JOIN series s USING (series_id) JOIN interval_day d ON d.interval_index = i.interval_start_ms // 900000
) AS n
LEFT JOIN local_day d USING (day)
EXCEPT SELECT * FROM touched_day;
