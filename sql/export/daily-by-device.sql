-- Days by device as rows ("device_day": see balance/11_device_day).
-- energy_wh: Wh, null where none of the sources that count has energy; coverage: share of the day, 0 to 1.
SELECT day, device, energy_wh, array_to_string(methods, ' ') AS method, flags, coverage, status, version, computed_at FROM device_day
