-- A replay that names deliveries finds them by their ids. The index holds only what a replay may look
-- at, like the one by time beside it, so that claims and settlements of what works do not write it.
create index deliveries_by_failed_id on deliveries (tracker_id, id)
  where replayable_until is not null;
