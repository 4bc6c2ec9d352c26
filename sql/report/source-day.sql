-- The rows of "chosen" as balance/11_device_day reads them. Reads chosen; rise_fall (see balance/12_rise_fall).
SELECT c.day, c.day AS told_day, c.device, c.source, c.energy_wh, r.rise_wh, r.fall_wh, [c.method] AS methods, c.flags, c.coverage, c.status, c.version, c.computed_at
FROM chosen c
LEFT JOIN rise_fall r ON r.day = c.day AND r.device = c.device AND r.source = c.source
