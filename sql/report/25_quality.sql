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
  SELECT day, device, floor(coverage * 100)::INTEGER AS coverage, status, methods, flags FROM device_day
), kind AS (
  SELECT coverage, status, methods, flags,
    row_number() OVER (ORDER BY count(*) DESC, coverage DESC, status, methods, flags) - 1 AS kind_index
  FROM graded
  GROUP BY coverage, status, methods, flags
), cell AS (
  SELECT graded.device, graded.day, kind.kind_index FROM graded JOIN kind USING (coverage, status, methods, flags)
), grid AS (
  SELECT device, day
  FROM (SELECT DISTINCT device FROM cell)
  CROSS JOIN (SELECT unnest($days::VARCHAR[])::DATE AS day)
)
SELECT 'kind' AS part, kind_index AS place, '' AS device,
  to_json({ coverage: coverage / 100, status: status, methods: methods, flags: flags })::VARCHAR AS text
FROM kind
UNION ALL
SELECT 'device', 0, grid.device::VARCHAR,
  concat('"', grid.device, '":[', string_agg(coalesce(cell.kind_index::VARCHAR, 'null'), ',' ORDER BY grid.day), ']')
FROM grid
LEFT JOIN cell ON cell.device = grid.device AND cell.day = grid.day
GROUP BY grid.device;
