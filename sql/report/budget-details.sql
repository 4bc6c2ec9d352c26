-- As meters, of budgets, each value an object with its scenario and the period that it is part of.
SELECT
  day::VARCHAR AS day,
  encode(string_agg(concat('"', key, '":', to_json({
    energyWh: energy_wh,
    scenario: scenario,
    periodStart: period_start::VARCHAR,
    periodEnd: period_end::VARCHAR,
    periodWh: period_wh,
    flags: CASE WHEN period_start < period_end THEN ['estimated'] ELSE []::VARCHAR[] END,
    revision: revision,
    uploadedAt: strftime(make_timestamp(epoch_us(uploaded_at)), '%Y-%m-%dT%H:%M:%S.%gZ')
  })), ',' ORDER BY key)) AS members
FROM meter_day GROUP BY day
