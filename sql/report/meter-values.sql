-- "meter_day" as rows, for what is computed of them. flags: separated by commas. scenario: only budgets have one.
SELECT key, day::VARCHAR AS day, energy_wh::DOUBLE AS energy_wh, coverage::DOUBLE AS coverage, array_to_string(flags, ',') AS flags,
  NULL::VARCHAR AS scenario
FROM meter_day
