-- The executor commits what it is about to ask of the ad platform before it asks, because no call to
-- a platform runs inside a transaction (docs/decisions/0028). A version that knows none of these
-- columns leaves them at their defaults.

alter table agent_actions
  add column change_requested_at timestamptz,
  add column change_policy_version integer,
  add column change_attempts integer not null default 0,
  add column rollback_requested_at timestamptz;

comment on column agent_actions.change_requested_at is 'null: the platform was not asked yet';
comment on column agent_actions.change_policy_version is 'the policy that allowed the request';
comment on column agent_actions.change_attempts is 'how often the change was sent';
comment on column agent_actions.rollback_requested_at is 'null: the platform was not asked to restore';

-- The idempotency key of the change that made the current version.
alter table ad_entities add column last_change_key text;

comment on column ad_entities.last_change_key is 'null: the executor did not make this version';
