-- A register that is read within the day alone says nothing of the time between the last reading of a day and the first of the next.
UPDATE step SET c0 = step.c1, covered = false
FROM series_rule r, interval_day d
WHERE r.series_id = step.series_id AND r.within_day AND d.interval_index = step.t0 // 900000 AND step.t1 >= d.end_ms;
