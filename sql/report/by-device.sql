-- One row for each day that has energy, in any order: the members of its JSON object, "<device>":Wh, sorted, as bytes.
-- A device is the sum of the sources that count.
SELECT
  day::VARCHAR AS day,
  encode(string_agg(concat('"', device, '":', energy_wh), ',' ORDER BY device)) AS members
FROM (SELECT day, device, sum(energy_wh)::BIGINT AS energy_wh FROM chosen WHERE counts GROUP BY day, device)
GROUP BY day
