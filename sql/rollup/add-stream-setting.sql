-- One configured stream, with limits in Wh, W and ms; null where nothing is configured.
INSERT INTO stream_setting VALUES (
  $stream_id, $position, $after_batch::BIGINT, $table_name, $field, $field_pointer, $unit_pointer, $method, $dimension, $factor, $multiplier,
  $max_power_w, $jitter_wh, $modulus_wh, $net, $within_day, $sampling, $label_end, $interval_ms, $max_gap_ms, $direction
);
