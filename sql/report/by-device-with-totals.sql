-- As by-device, but devices that have a total source are that source alone: $total_devices and $total_sources, lists side by side.
SELECT
  day::VARCHAR AS day,
  encode(string_agg(concat('"', device, '":', energy_wh), ',' ORDER BY device)) AS members
FROM (
  SELECT c.day, c.device, sum(c.energy_wh)::BIGINT AS energy_wh
  FROM chosen c
  LEFT JOIN (SELECT unnest($total_devices::UUID[]) AS device, unnest($total_sources::VARCHAR[]) AS source) t ON t.device = c.device
  WHERE t.source IS NULL OR t.source = c.source
  GROUP BY c.day, c.device
)
GROUP BY day
