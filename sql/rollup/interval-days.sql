-- The local day of every interval: joining it is many times faster than asking the tz database a reading.
-- interval_day: interval_index (interval start / 15 min), day, start_ms, end_ms
CREATE OR REPLACE TEMP TABLE interval_day AS
SELECT unnest(range(start_ms // 900000, end_ms // 900000)) AS interval_index, day, start_ms, end_ms
FROM local_day;
