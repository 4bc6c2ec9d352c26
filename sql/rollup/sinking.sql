-- Readings of lifetime registers in context that have fallen, little by little, further below their high-water mark than their jitter: all
-- those between two events of such a register, in order. mark: held above the reading where the stretch starts, else the reading itself.
SELECT series_id, frame, t, v, mark, jitter_wh
FROM (
  SELECT *, max(mark) OVER (PARTITION BY series_id, frame ORDER BY t) AS held
  FROM (
    SELECT k.series_id, k.event_time_ms AS t, k.value AS v, greatest(k.value, coalesce(i.last_value, k.value)) AS mark, r.jitter_wh,
      count(j.kind) OVER (PARTITION BY k.series_id ORDER BY k.event_time_ms) AS frame
    FROM kept_reading k
    JOIN series_rule r USING (series_id)
    LEFT JOIN carry_in i ON i.series_id = k.series_id AND i.last_ms = k.event_time_ms
    LEFT JOIN energy_event j ON j.series_id = k.series_id AND j.to_ms = k.event_time_ms
      AND j.kind IN ('reset', 'rollover', 'rebase', 'register_change')
    WHERE r.method = 'total_energy' AND NOT r.net
  )
)
QUALIFY bool_or(v < held - jitter_wh) OVER (PARTITION BY series_id, frame)
ORDER BY series_id, t;
