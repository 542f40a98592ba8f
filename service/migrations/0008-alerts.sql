-- What a person should look at (docs/decisions/0014). At most one open alert of a kind and destination:
-- raising it again renews its words, and resolving it makes room for the next.
create table alerts (
  tracker_id uuid not null,
  id integer not null,
  destination_id uuid not null,
  kind text not null,
  sentence text not null,
  details json not null,
  raised_at timestamptz not null,
  resolved_at timestamptz,
  primary key (tracker_id, id)
);

create unique index alerts_open on alerts (tracker_id, destination_id, kind)
  where resolved_at is null;

-- When the platform was last asked for match quality, and why it gave none; one row a destination.
-- Whoever moves next_read_at on may ask, so that several processes ask once.
create table emq_readings (
  tracker_id uuid not null,
  destination_id uuid not null,
  read_at timestamptz not null,
  next_read_at timestamptz not null,
  unavailable_cause text,
  unavailable_sentence text,
  primary key (tracker_id, destination_id)
);
