-- One row for each day that has energy, in any order: "<device>.<source>":[Wh of each interval, in order], sorted, as bytes.
SELECT
  day::VARCHAR AS day,
  encode(string_agg(concat('"', device, '.', substr(to_json(source)::VARCHAR, 2), ':[', profile, ']'), ',' ORDER BY device, source)) AS members
FROM (
  SELECT day, device, source, string_agg(coalesce(energy_wh::VARCHAR, 'null'), ',' ORDER BY at_ms) AS profile
  FROM slot GROUP BY day, device, source
)
GROUP BY day
