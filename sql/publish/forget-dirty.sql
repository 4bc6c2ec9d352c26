-- Forgets the marks that this transaction sees; those that are added meanwhile stay.
DELETE FROM dirty_partition;
