-- Registers of which nothing but growth is known.

ALTER TABLE series ADD COLUMN steady_power_w DOUBLE;
COMMENT ON COLUMN series.steady_power_w IS 'Of a lifetime register: no two neighbouring readings show more power (W) than this, none falls and none leaves zero; null where one does, or where it is not known';
