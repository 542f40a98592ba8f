-- Versions of a policy, and roles that wait (docs/decisions/0042). What permits more is a version
-- that becomes valid later; `agent_policies` keeps the stricter one until then, which is all that an
-- earlier version of the service reads. If such a version saves a policy, its number replaces the
-- base of the waiting one, which never becomes valid then.
create table agent_policy_versions (
  workspace_id integer not null references workspaces (id),
  version integer not null,
  -- The version of `agent_policies` that it follows; another one there replaces it.
  base_version integer not null,
  execution_mode text not null check (execution_mode in ('suggest_only', 'ask', 'auto_with_limits')),
  limits jsonb not null,
  valid_from timestamptz not null,
  changed_by integer not null,
  changed_at timestamptz not null,
  confirmed_by integer,
  confirmed_at timestamptz,
  canceled_by integer,
  canceled_at timestamptz,
  primary key (workspace_id, version)
);

-- The daily budget before the first change of an agent bounds every later one.
create index agent_actions_by_target
  on agent_actions (ad_account_id, target_type, target_id, execution_started_at)
  where execution_started_at is not null;

-- An invited owner or administrator is a member until the wait ends or another owner confirms.
alter table members
  add column granted_role text check (granted_role in ('owner', 'admin')),
  add column granted_by integer,
  add column granted_at timestamptz;
create index members_with_granted_role on members (granted_at) where granted_role is not null;

comment on column members.granted_role is 'null: the role is the one that was granted';
