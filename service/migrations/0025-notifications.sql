-- What people of a workspace are told, by email and by a webhook of the workspace
-- (docs/decisions/0032). A version that knows none of these tables tells nothing.

-- No row: the defaults. The URL of a webhook can be a secret, so it is sealed with the signing secret.
create table notification_settings (
  workspace_id integer primary key references workspaces (id),
  -- Topics that are not sent; topics of later versions are on until they are muted.
  muted_email_topics text[] not null default '{}',
  muted_webhook_topics text[] not null default '{}',
  digest_minutes integer not null default 15 check (digest_minutes > 0),
  webhook_host text,
  webhook_format text check (webhook_format in ('standard', 'text')),
  sealed_webhook bytea,
  -- Null: it is on.
  webhook_disabled_at timestamptz,
  webhook_disabled_reason text
);

-- What waits for the next digest of its channel, which deletes it.
create table notifications (
  id bigint primary key generated always as identity,
  workspace_id integer not null references workspaces (id),
  channel text not null check (channel in ('email', 'webhook')),
  topic text not null,
  type text not null,
  -- Members whose role has this permission, or one person.
  permission text,
  person_id integer,
  subject_type text not null,
  subject_id text not null,
  text text not null,
  path text not null,
  created_at timestamptz not null,
  check ((permission is null) <> (person_id is null))
);
create index notifications_by_channel on notifications (workspace_id, channel, id);
create index notifications_by_subject on notifications (workspace_id, subject_type, subject_id);

-- A digest for one recipient. The ID is that of every attempt, so that receivers can ignore repeats.
create table notification_messages (
  id uuid primary key,
  workspace_id integer not null references workspaces (id),
  channel text not null check (channel in ('email', 'webhook')),
  -- The recipient of an email, whose address is read when it is sent.
  person_id integer,
  -- Emptied when it is finished.
  body text not null,
  status text not null check (status in ('pending', 'sent', 'failed')),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  -- How the last attempt failed, as a code.
  last_error text,
  created_at timestamptz not null,
  finished_at timestamptz
);
create index notification_messages_due on notification_messages (channel, next_attempt_at)
  where status = 'pending';
create index notification_messages_by_workspace
  on notification_messages (workspace_id, channel, created_at);
create index notification_messages_finished on notification_messages (finished_at)
  where finished_at is not null;
