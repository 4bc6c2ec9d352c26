-- As by-device, each value an object with what is to be known of it: what any of the sources has that add up to the device, the least
-- coverage, the newest version.
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
FROM (
  SELECT day, device,
    sum(energy_wh)::BIGINT AS energy_wh,
    list_sort(list_distinct(list(method))) AS methods,
    list_sort(list_distinct(flatten(list(flags)))) AS flags,
    min(coverage) AS coverage,
    CASE WHEN bool_or(status = 'provisional') THEN 'provisional' WHEN bool_or(status = 'restated') THEN 'restated' ELSE 'final' END AS status,
    max(version) AS version,
    max(computed_at) AS computed_at
  FROM chosen
  GROUP BY day, device
)
GROUP BY day
