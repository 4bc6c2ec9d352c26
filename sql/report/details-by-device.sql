-- As by-device, each value an object with what is to be known of it.
SELECT
  day::VARCHAR AS day,
  encode(string_agg(concat('"', device, '":', to_json({
    energyWh: energy_wh,
    methods: methods,
    flags: flags,
    coverage: coverage,
    status: status,
    version: version,
    computedAt: strftime(make_timestamp(epoch_us(computed_at)), '%Y-%m-%dT%H:%M:%S.%gZ')
  })), ',' ORDER BY device)) AS members
FROM device_day
GROUP BY day
