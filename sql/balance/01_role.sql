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
