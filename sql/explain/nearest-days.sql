-- The days with energy of a device ($device) before and after $day.
SELECT
  max(day) FILTER (day < $day::DATE)::VARCHAR AS before,
  min(day) FILTER (day > $day::DATE)::VARCHAR AS after
FROM daily_energy WHERE device = $device::UUID;
