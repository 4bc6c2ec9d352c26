-- What is impossible by power, and methods that contradict each other.

INSERT INTO quality_flag VALUES
  (2048, 'contradicted', 'another method that covers the day measured less than half, or more than twice as much');
COMMENT ON TABLE series_break IS 'Steps of a register between neighbouring readings that no plain growth explains: falls, impossible jumps, the first step away from zero; of power and interval readings: steps beyond the most power that is plausible, and back';
COMMENT ON COLUMN series_day.power_w IS 'Usual power (W) of a growing register, of power and interval readings a quarter of what the second busiest quarter of an hour needs; rounded up to a power of two so that it seldom changes';
COMMENT ON COLUMN energy_event.value_before IS 'Wh; of power W';
COMMENT ON COLUMN energy_event.value_after IS 'Wh; of power W';
