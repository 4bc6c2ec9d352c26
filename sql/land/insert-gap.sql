-- Records a gap, unless the very same one is recorded already: whoever reports a gap may report it twice.
-- Parameters: origin, reason, from_offset, to_offset, from_time_ms, to_time_ms, detected_at_ms.
INSERT INTO gap (gap_id, origin, reason, from_offset, to_offset, from_time_ms, to_time_ms, detected_at_ms)
SELECT
  coalesce((SELECT max(gap_id) FROM gap), 0) + 1,
  $origin,
  $reason,
  $from_offset::UBIGINT,
  $to_offset::UBIGINT,
  $from_time_ms::BIGINT,
  $to_time_ms::BIGINT,
  $detected_at_ms::BIGINT
WHERE NOT EXISTS (
  SELECT 1
  FROM gap
  WHERE gap.origin = $origin
    AND gap.reason = $reason
    AND gap.from_offset IS NOT DISTINCT FROM $from_offset::UBIGINT
    AND gap.to_offset IS NOT DISTINCT FROM $to_offset::UBIGINT
    AND gap.from_time_ms IS NOT DISTINCT FROM $from_time_ms::BIGINT
)
