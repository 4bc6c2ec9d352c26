-- 60 Meters: readings, budgets, and the members of sites.
--
-- Reads   meter_reading, budget; declared_meter, declared_member, declared_absent (temporary: from the
--         configuration, see meters/).
-- Writes  nothing. Returns the rows of the datasets meter, meter_reading, site_member, absent_role and
--         budget. Energy in Wh.
-- Why     Replaced uploads stay in the lake, marked as not current, so that earlier answers can be explained.

-- name: select_meter
-- Selects the configured meters. Temporary table declared_meter: see meters/declare_meters.
-- Columns:
--   meter_code, name
--   direction        null: none is configured
--   device, source   whose energy the meter is. null: a meter with uploaded readings
SELECT meter_code, name, direction, device, source FROM declared_meter ORDER BY meter_code;

-- name: select_meter_reading
-- Selects the meter readings whose intervals start from $start_ms up to $end_ms (excluded).
-- Columns:
--   meter_code, interval_start, interval_end
--   energy_wh    null: a register fell
--   direction
--   quality      measured, estimated, substituted or fault (a register fell)
--   revision, received_at
--   is_current   no later upload has replaced it
SELECT
  meter_code,
  make_timestamptz(start_ms * 1000) AS interval_start,
  make_timestamptz(end_ms * 1000) AS interval_end,
  energy_wh,
  direction,
  quality,
  revision,
  make_timestamptz(received_at_ms * 1000) AS received_at,
  replaced_by IS NULL AS is_current
FROM meter_reading
WHERE start_ms >= $start_ms::BIGINT AND start_ms < $end_ms::BIGINT
ORDER BY meter_code, start_ms, end_ms, revision;

-- name: select_site_member
-- Selects the members of the configured sites: meters on the one side, devices on the other. Temporary
-- table declared_member: see meters/declare_members.
-- Columns:
--   site
--   meter_code, device, source   of a meter device and source are null, of a device meter_code is. source is
--                                also null if the whole device is a member
--   sign                         1 or -1
--   valid_from, valid_to         null: open
SELECT site, meter_code, device, source, sign, valid_from, valid_to FROM declared_member
ORDER BY site, meter_code, device, source, valid_from;

-- name: select_absent_role
-- Selects the roles that sites are declared not to have. Temporary table declared_absent: see
-- meters/declare_absent.
SELECT site, role FROM declared_absent ORDER BY site, role;

-- name: select_budget
-- Selects every budget that was ever uploaded.
-- Columns:
--   meter_code, period_start, period_end
--   energy_wh    of the whole period
--   scenario, revision, uploaded_at
--   is_current   no later upload has replaced it
SELECT
  meter_code,
  period_start,
  period_end,
  energy_wh,
  scenario,
  revision,
  make_timestamptz(uploaded_at_ms * 1000) AS uploaded_at,
  replaced_by IS NULL AS is_current
FROM budget
ORDER BY meter_code, scenario, period_start, period_end, revision;
