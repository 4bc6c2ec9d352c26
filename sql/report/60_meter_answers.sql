-- 60 Meter answers: days of meters and of budgets as answers.
--
-- Reads   meter_day, member.
-- Writes  one row for each day: day, members (the members of its JSON object, as bytes); or rows for what is computed of them.
-- Why     As in chapter 20.

-- name: answer_meters
-- One row for each day of "meter_day" that has energy, in any order: the members of its JSON object, "<code>":Wh, sorted, as bytes.
SELECT day::VARCHAR AS day, encode(string_agg(concat('"', key, '":', energy_wh), ',' ORDER BY key)) AS members
FROM meter_day WHERE energy_wh IS NOT NULL GROUP BY day

-- name: answer_meter_details
-- As answer_meters, each value an object with what is to be known of it. $members: see select_members.
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

-- name: answer_budget_details
-- As answer_meters, of budgets, each value an object with its scenario and the period that it is part of.
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

-- name: select_meter_values
-- "meter_day" as rows, for what is computed of them. flags: separated by commas. scenario: only budgets have one.
SELECT key, day::VARCHAR AS day, energy_wh::DOUBLE AS energy_wh, coverage::DOUBLE AS coverage, array_to_string(flags, ',') AS flags,
  NULL::VARCHAR AS scenario
FROM meter_day

-- name: select_budget_values
-- "meter_day" of budgets as rows, for what is computed of them. A budget is known as a whole.
SELECT key, day::VARCHAR AS day, energy_wh::DOUBLE AS energy_wh, 1::DOUBLE AS coverage, NULL::VARCHAR AS flags, scenario FROM meter_day
