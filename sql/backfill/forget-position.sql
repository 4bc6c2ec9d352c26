-- A piece that is over needs no position any more.
DELETE FROM checkpoint WHERE origin = $origin;
