-- As by-source, each value an object with what is to be known of it.
SELECT
  day::VARCHAR AS day,
  encode(string_agg(concat('"', device, '.', substr(to_json(source)::VARCHAR, 2), ':', to_json({
    energyWh: energy_wh,
    methods: [method],
    flags: list_sort(flags),
    coverage: coverage,
    status: status,
    version: version,
    computedAt: strftime(make_timestamp(epoch_us(computed_at)), '%Y-%m-%dT%H:%M:%S.%gZ')
  })), ',' ORDER BY file_row_number)) AS members
FROM chosen
GROUP BY day
