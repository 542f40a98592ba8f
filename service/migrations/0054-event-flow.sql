-- What is known of the events of one UTC day of receipt, as a document that a job counts again when
-- enough has changed (docs/decisions/0058-event-flow.md). Acceptance and delivery write nothing here.
create table signalbox_store.event_flow_days (
  tracker_id uuid not null,
  received_on date not null,
  counted_until timestamptz not null,
  counted_at timestamptz not null,
  events integer not null,
  accepted integer not null,
  waiting integer not null,
  milliseconds integer not null,
  flow json not null,
  primary key (tracker_id, received_on)
);

comment on column signalbox_store.event_flow_days.counted_until is
  'events that were received before this time are in the document';
comment on column signalbox_store.event_flow_days.accepted is
  'the sum of delivery_counts.accepted of the day when it was counted';
comment on column signalbox_store.event_flow_days.milliseconds is 'how long the count took';
