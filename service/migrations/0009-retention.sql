-- What retention looks up (docs/decisions/0015). Attempts by when they were; a batch has one, so this
-- is one entry a request. And payloads that lie in the default partition, which is nearly always empty.
create index send_attempts_by_start on send_attempts (tracker_id, started_at, id);
create index event_payloads_default_by_day on event_payloads_default (received_on);
