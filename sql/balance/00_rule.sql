-- 00 Rule: the constants and roles of the balance.
--
-- Reads   nothing.
-- Writes  "rule" (the constants, one row), "role" (one row for each role). Each statement of these chapters
--         is one table of a larger statement that src/balance composes. Quoted names are such tables.
-- Why     The other chapters have no numbers of their own, so each number is in one place.

-- name: find_rule
-- Returns the constants of the energy balance, in one row.
-- rule:
--   interval_ms         length of an interval, ms
--   known_share         share of an interval (0 to 1) that measurements must cover for its energy to be
--                       known. It is not 1, because the time between two samples is not missing data
--   span_ms             if readings are further apart (ms), nobody knows when the energy between them flowed
--   span_wh             up to this much energy a day (Wh) in such spans is tolerated, because it is little
--                       beside the energy of a day: the standby of a few watts in a short silence
--   grace_ms            an interval that ended less than this ago (ms) waits for late data
--   tolerance_wh        the smallest tolerance of a balance (Wh), because rounded values and steps of
--                       registers of 10 Wh differ by about this much even if every meter is right
--   tolerance_percent   the tolerance in percent of the energy that goes in or out, because a few meters
--                       with an error of 1 or 2 % each, and losses between them, add up to about this much
--   now_ms              the current time; it decides which intervals are over
SELECT
  15 * 60 * 1000 AS interval_ms,
  0.999 AS known_share,
  60 * 60 * 1000 AS span_ms,
  20 AS span_wh,
  60 * 60 * 1000 AS grace_ms,
  20 AS tolerance_wh,
  5 AS tolerance_percent,
  epoch_ms(now()) AS now_ms;

-- name: find_role
-- The roles that are part of a balance.
-- role:
--   role        name of the role
--   side        1 for energy into the scope, -1 for energy out of it
--   place       of several roles of a device, the one with the lowest place is used
--   hinted_by   a scope can have the role without a source of it if one of its sources has one of these
--               roles; null: every scope can
SELECT role, side, place, hinted_by
FROM (VALUES
  ('production', 1, 1, ['production', 'grid_export']),
  ('consumption', -1, 2, NULL),
  ('grid_import', 1, 3, NULL),
  ('grid_export', -1, 4, ['production', 'grid_export', 'battery_charge', 'battery_discharge']),
  ('battery_discharge', 1, 5, ['battery_charge', 'battery_discharge']),
  ('battery_charge', -1, 6, ['battery_charge', 'battery_discharge'])
) AS role (role, side, place, hinted_by);
