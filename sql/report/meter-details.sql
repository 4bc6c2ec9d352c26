-- As meters, each value an object with what is to be known of it. $members: see members.
SELECT
  day::VARCHAR AS day,
  encode(string_agg(concat('"', key, '":', to_json({
    energyWh: energy_wh,
    quality: quality,
    flags: flags,
    coverage: coverage,
    revision: revision,
    source: CASE WHEN m.device IS NULL THEN to_json({kind: 'uploaded'}) ELSE to_json({kind: 'derived', device: m.device, source: m.source}) END
  })), ',' ORDER BY key)) AS members
FROM meter_day JOIN member m USING (key)
GROUP BY day
