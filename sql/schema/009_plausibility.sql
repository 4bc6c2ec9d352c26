-- What is impossible by power, and methods that contradict each other.

INSERT INTO quality_flag VALUES
  (2048, 'contradicted', 'another method that covers the day measured less than half, or more than twice as much');
ALTER TABLE series ADD COLUMN usual_power_w DOUBLE;
COMMENT ON COLUMN series.usual_power_w IS 'Of a register that restarts every day: the usual power (W) of its busier days, learnt; null while too few readings are known';
COMMENT ON TABLE series_break IS 'Steps of a register between neighbouring readings that no plain growth explains: falls, impossible jumps, the first step away from zero; of power and interval readings: steps beyond the most power that is plausible, and back';
COMMENT ON COLUMN series_day.power_w IS 'Usual power (W) of a growing register, of power and interval readings a quarter of what two in a row agree on in the second busiest quarter of an hour; rounded up to a power of two so that it seldom changes';
COMMENT ON COLUMN energy_event.value_before IS 'Wh; of power W';
COMMENT ON COLUMN energy_event.value_after IS 'Wh; of power W';
