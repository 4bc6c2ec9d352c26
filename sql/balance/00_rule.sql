-- 00 Rule: what the other chapters judge by.
--
-- Reads   nothing.
-- Writes  "rule" (the constants, one row), "role" (one row for each role). Each statement of these chapters is one table of a statement that
--         src/balance puts together; quoted names are such tables.
-- Why     The other chapters have no numbers of their own, so that a rule stands in one place.

-- name: find_rule
-- The constants of the energy balance, in one row. The chapters beside this one read them from here and have no numbers of their own.
--
-- Writes "rule":
--   interval_ms          length of an interval, ms
--   known_share          share of an interval (0 to 1) that measurements must cover for its energy to be known
--   span_ms              readings further apart (ms) do not tell when the energy between them flowed
--   span_wh              up to this much energy a day (Wh) in such spans does no harm
--   grace_ms             an interval that ended less than this ago (ms) waits for data that are on their way
--   tolerance_wh         least energy (Wh) that a balance may be off by
--   tolerance_percent    the same in percent of what goes in or comes out
--   now_ms               which intervals are over
SELECT 900000 AS interval_ms, 0.999 AS known_share, 3600000 AS span_ms, 20 AS span_wh, 3600000 AS grace_ms,
  20 AS tolerance_wh, 5 AS tolerance_percent, epoch_ms(now()) AS now_ms

-- name: find_role
-- The roles that are part of a balance.
--
-- Writes "role": role; side: 1 for what comes into the scope, -1 for what goes out of it; place: which of several roles stands for a device
SELECT role, side, place
FROM (VALUES
  ('production', 1, 1),
  ('consumption', -1, 2),
  ('grid_import', 1, 3),
  ('grid_export', -1, 4),
  ('battery_discharge', 1, 5),
  ('battery_charge', -1, 6)
) AS role (role, side, place)
