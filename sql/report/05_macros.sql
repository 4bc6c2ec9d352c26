-- 05 Macros: computations that several answers share.
--
-- Reads   nothing.
-- Writes  nothing. Macros, in the database in memory that computes the answers.
-- Why     An instant and the details of a day have one form in all answers.

-- name: create_report_macros
-- Creates the macros.
--
-- The text of an instant, YYYY-MM-DDTHH:MM:SS.mmmZ, whatever the time zone of the connection.
CREATE MACRO utc_text(instant) AS strftime(make_timestamp(epoch_us(instant)), '%Y-%m-%dT%H:%M:%S.%gZ');
-- The details of a day, as a JSON object.
CREATE MACRO details_json(energy_wh, methods, flags, coverage, status, version, computed_at) AS to_json({
  energyWh: energy_wh,
  methods: methods,
  flags: flags,
  coverage: coverage,
  status: status,
  version: version,
  computedAt: utc_text(computed_at)
});
