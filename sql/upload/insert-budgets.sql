-- Stores what is new.
INSERT INTO budget BY NAME
SELECT
  meter_code,
  DATE '1970-01-01' + start_at::INTEGER AS period_start,
  DATE '1970-01-01' + end_at::INTEGER - 1 AS period_end,
  energy_wh::BIGINT AS energy_wh,
  detail AS scenario,
  revision,
  $now_ms AS uploaded_at_ms,
  $upload_id AS upload_id
FROM incoming WHERE NOT is_same ORDER BY meter_code, detail, start_at;
