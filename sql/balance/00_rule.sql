-- The constants of the energy balance, in one row. The chapters beside this one read them from here and have no numbers of their own.
--
-- Writes "rule":
--   interval_ms          length of an interval, ms
--   known_share          share of an interval (0 to 1) that measurements must cover for its energy to be known
--   span_ms              readings further apart (ms) do not tell when the energy between them flowed
--   span_wh              up to this much energy a day (Wh) in such spans does no harm
--   grace_ms             an interval that ended less than this ago (ms) waits for data that are on their way
--   tolerance_wh         least energy (Wh) that a balance may be off by
--   tolerance_percent    the same in percent of what goes in or comes out
--   now_ms               which intervals are over
SELECT 900000 AS interval_ms, 0.999 AS known_share, 3600000 AS span_ms, 20 AS span_wh, 3600000 AS grace_ms,
  20 AS tolerance_wh, 5 AS tolerance_percent, epoch_ms(now()) AS now_ms
