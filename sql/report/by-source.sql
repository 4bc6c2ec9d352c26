-- One row for each day that has energy, in any order: the members of its JSON object, "<device>.<source>":Wh, sorted, as bytes.
-- The text is put together here because a million values would take the event loop a second.
SELECT
  day::VARCHAR AS day,
  encode(string_agg(concat('"', device, '.', substr(to_json(source)::VARCHAR, 2), ':', energy_wh), ',' ORDER BY file_row_number)) AS members
FROM chosen
GROUP BY day
