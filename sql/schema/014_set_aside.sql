-- Series whose roll-up fails are set aside alone.

CREATE TABLE set_aside (
  stream_id INTEGER NOT NULL,
  device UUID NOT NULL,
  source VARCHAR NOT NULL,
  since_ms BIGINT NOT NULL,
  error VARCHAR NOT NULL,
  program_version VARCHAR NOT NULL
);
COMMENT ON TABLE set_aside IS 'Series whose roll-up fails: the others are rolled up without them. Their readings are kept, their days are flagged unavailable';
COMMENT ON COLUMN set_aside.since_ms IS 'When the roll-up failed with it for the first time';
COMMENT ON COLUMN set_aside.error IS 'What failed, in words that tell no values';
COMMENT ON COLUMN set_aside.program_version IS 'The Wattline that failed: another one tries again. Empty where somebody has asked to try again';

-- More flags of days than 16 bits hold.
ALTER TABLE daily_energy ALTER COLUMN flags TYPE UINTEGER;
ALTER TABLE daily_energy_history ALTER COLUMN flags TYPE UINTEGER;
ALTER TABLE quality_flag ALTER COLUMN bit TYPE UINTEGER;
INSERT INTO quality_flag VALUES
  (65536, 'unavailable', 'a field of the source could not be computed: the energy is what was known before, or what another field says');
COMMENT ON COLUMN daily_energy_history.causes IS 'What brought the version about: stream, import or backfill (readings that came so), configuration, zone, learnt (limits learnt anew), rules (another version of Wattline), correction (a person), retried (a series that had been set aside is computed again); empty where the day was not over, null for versions from before this was kept';
