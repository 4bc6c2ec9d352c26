-- One row for each day of "meter_day" that has energy, in any order: the members of its JSON object, "<code>":Wh, sorted, as bytes.
SELECT day::VARCHAR AS day, encode(string_agg(concat('"', key, '":', energy_wh), ',' ORDER BY key)) AS members
FROM meter_day WHERE energy_wh IS NOT NULL GROUP BY day
