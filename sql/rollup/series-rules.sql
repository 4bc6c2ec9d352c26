-- The rules that hold for each series: what is configured, else what is learnt.
-- series_rule: series_id and the settings of its stream, with limits in Wh, W and ms; learns: whether one of them is learnt
CREATE OR REPLACE TEMP TABLE series_rule AS
SELECT
  s.series_id, s.stream_id, s.device, s.source, s.first_ms, s.last_ms,
  t.method, t.net, t.within_day, t.modulus_wh, t.sampling, t.label_end, t.direction,
  t.max_power_w AS configured_power_w,
  CASE WHEN t.net THEN NULL ELSE coalesce(t.max_power_w, s.learnt_power_w) END AS max_power_w,
  -- By what is learnt a register that restarts every day counts little more than is usual since a restart: an average over one shows less than
  -- before too. A lifetime register shows so much that this is not needed.
  CASE WHEN t.max_power_w IS NULL THEN least(s.learnt_power_w, 4 * s.usual_power_w) END AS recount_power_w,
  coalesce(t.jitter_wh, 2 * s.resolution, 0) AS jitter_wh,
  coalesce(t.interval_ms, s.step_ms, 900000) AS interval_ms,
  coalesce(t.max_gap_ms, least(3 * s.step_ms, 3600000), 3600000) AS max_gap_ms,
  CASE
    WHEN t.method IN ('total_energy', 'daily_energy') THEN NOT t.net AND (t.max_power_w IS NULL OR t.jitter_wh IS NULL)
    WHEN t.method = 'power_curve' AND t.sampling = 'on_change' THEN false
    WHEN t.method = 'power_curve' AND t.sampling = 'instantaneous' THEN t.max_gap_ms IS NULL OR t.max_power_w IS NULL
    ELSE t.interval_ms IS NULL OR t.max_power_w IS NULL
  END AS learns
FROM series s
JOIN stream_setting t ON t.stream_id = s.stream_id;
