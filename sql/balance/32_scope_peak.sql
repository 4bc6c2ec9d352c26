-- The peak power of what produces in a scope on each local day.
--
-- Reads  device_peak (device, kwp, valid_from, valid_to); scope_source; scope_day; scope_member
-- Writes "scope_peak", one row for each scope and local day on which something produces that has a peak power on any day:
--   kwp              sum of the devices, kWp; null where the peak of one of them is not known
WITH producing AS (
  SELECT DISTINCT scope_id, own_day, device, sign
  FROM scope_source
  WHERE counts AND 'production' IN (role, negative_role)
  UNION
  -- Production that is computed is that of all devices of which a peak is known.
  SELECT d.scope_id, d.own_day, p.device, m.sign
  FROM scope_day d
  JOIN scope_member m USING (scope_id)
  JOIN device_peak p ON (m.device IS NULL OR m.device = p.device)
  WHERE d.production_state = 'unknown'
    AND (d.own_day >= m.valid_from OR m.valid_from IS NULL) AND (d.own_day <= m.valid_to OR m.valid_to IS NULL)
)
SELECT a.scope_id, a.own_day, CASE WHEN bool_and(p.kwp IS NOT NULL) THEN sum(a.sign * p.kwp) END AS kwp
FROM producing a
LEFT JOIN device_peak p ON p.device = a.device
  AND (a.own_day >= p.valid_from OR p.valid_from IS NULL) AND (a.own_day <= p.valid_to OR p.valid_to IS NULL)
GROUP BY a.scope_id, a.own_day
HAVING bool_or(a.device IN (SELECT device FROM device_peak))
