-- 25 Quality: the kinds of days, and which day of a device is of which kind.
--
-- Reads   device_day (see balance/sum_device_day).
-- Writes  one row for each kind of day and for each device (JSON text).
-- Why     Most days are of a few kinds, so a year of thousands of devices stays small.

-- name: answer_quality
-- Returns the quality of devices by day as parts of JSON text: one row for each kind of day (`kind`), and one
-- row for each device (`device`): "<device>":[index of the kind of each day, null without a day]. $days: the
-- days of the range. Reads device_day (see balance/sum_device_day). The caller orders by place and device:
-- the most frequent kind is first, at place 0.
WITH graded AS (
  -- The days of devices, with the coverage in whole percent.
  SELECT day, device, floor(coverage * 100)::INTEGER AS coverage, status, methods, flags FROM device_day
), kind AS (
  -- Days with the same values are of one kind. kind_index: 0 is the most frequent kind.
  SELECT coverage, status, methods, flags,
    row_number() OVER (ORDER BY count(*) DESC, coverage DESC, status, methods, flags) - 1 AS kind_index
  FROM graded
  GROUP BY coverage, status, methods, flags
), cell AS (
  -- The kind of each day of a device.
  SELECT graded.device, graded.day, kind.kind_index FROM graded JOIN kind USING (coverage, status, methods, flags)
), grid AS (
  -- Every day of every device, also days without energy.
  SELECT device, day
  FROM (SELECT DISTINCT device FROM cell)
  CROSS JOIN (SELECT unnest($days::VARCHAR[])::DATE AS day)
)
SELECT 'kind' AS part, kind_index AS place, '' AS device,
  to_json({ coverage: coverage / 100, status: status, methods: methods, flags: flags })::VARCHAR AS text
FROM kind
UNION ALL BY NAME
SELECT 'device' AS part, 0 AS place, grid.device::VARCHAR AS device,
  concat('"', grid.device, '":[', string_agg(coalesce(cell.kind_index::VARCHAR, 'null'), ',' ORDER BY grid.day),
    ']') AS text
FROM grid
LEFT JOIN cell ON cell.device = grid.device AND cell.day = grid.day
GROUP BY grid.device;
