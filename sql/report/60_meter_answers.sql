-- 60 Meter answers: days of meters and of budgets as answers.
--
-- Reads   meter_day, member.
-- Writes  one row for each day (period: the day; members: the members of its JSON object, as bytes); or plain
--         rows for further computation.
-- Why     The database builds the JSON text, as in chapter 20.

-- name: answer_meters
-- Returns one row for each day of "meter_day" with energy, in any order: the members of its JSON object,
-- "<code>":Wh, sorted, as bytes.
SELECT day::VARCHAR AS period, encode(string_agg(concat('"', key, '":', energy_wh), ',' ORDER BY key)) AS members
FROM meter_day WHERE energy_wh IS NOT NULL GROUP BY day;

-- name: answer_meter_details
-- Like answer_meters; each value is an object with all details. Reads "member" (see select_members).
SELECT
  day::VARCHAR AS period,
  encode(string_agg(concat('"', key, '":', to_json({
    energyWh: energy_wh,
    quality: quality,
    flags: flags,
    coverage: coverage,
    revision: revision,
    source: CASE
      WHEN member.device IS NULL THEN to_json({kind: 'uploaded'})
      ELSE to_json({kind: 'derived', device: member.device, source: member.source})
    END
  })), ',' ORDER BY key)) AS members
FROM meter_day JOIN member USING (key)
GROUP BY day;

-- name: answer_budget_details
-- Like answer_meters for budgets; each value is an object with its scenario and its period.
SELECT
  day::VARCHAR AS period,
  encode(string_agg(concat('"', key, '":', to_json({
    energyWh: energy_wh,
    scenario: scenario,
    periodStart: period_start::VARCHAR,
    periodEnd: period_end::VARCHAR,
    periodWh: period_wh,
    flags: CASE WHEN period_start < period_end THEN ['estimated'] ELSE []::VARCHAR[] END,
    revision: revision,
    uploadedAt: utc_text(uploaded_at)
  })), ',' ORDER BY key)) AS members
FROM meter_day GROUP BY day;

-- name: select_meter_values
-- Returns "meter_day" as plain rows.
-- Columns:
--   key, day, energy_wh, coverage
--   flags      separated by commas
--   scenario   null, because only budgets have scenarios
SELECT key, day::VARCHAR AS day, energy_wh::DOUBLE AS energy_wh, coverage::DOUBLE AS coverage,
  array_to_string(flags, ',') AS flags,
  NULL::VARCHAR AS scenario
FROM meter_day;

-- name: select_budget_values
-- Returns "meter_day" of budgets as plain rows. The energy of a budget is always complete.
SELECT key, day::VARCHAR AS day, energy_wh::DOUBLE AS energy_wh, 1::DOUBLE AS coverage, NULL::VARCHAR AS flags, scenario
FROM meter_day;
