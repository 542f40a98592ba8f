-- Agents: the clients that they are, what a person approved for them, and the tokens of both kinds.

-- A client is a public name for a program. Registering one needs nobody's consent and opens nothing.
create table oauth_clients (
  client_id text primary key,
  kind text not null check (kind in ('self_registered', 'device')),
  name text not null,
  redirect_uris text[] not null,
  created_at timestamptz not null,
  -- When a person first approved it; those whom nobody approves are collected.
  approved_at timestamptz
);
create index oauth_clients_unapproved on oauth_clients (created_at) where approved_at is null;

-- What a person allowed one agent to do with one ad account. A grant is one approval: its tokens
-- name it. It is null after the ad account was changed, until the agent is approved again.
create table agent_connections (
  id integer generated always as identity primary key,
  grant_id text unique,
  client_id text not null references oauth_clients (client_id),
  user_id integer not null references people.users (id) on delete cascade,
  workspace_id integer not null references workspaces (id),
  ad_account_id integer not null references ad_accounts (id),
  audience text not null check (audience in ('mcp', 'agent')),
  permissions text[] not null,
  name text not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz
);
create index agent_connections_by_workspace on agent_connections (workspace_id, id);
create index agent_connections_by_client on agent_connections (client_id);
create index agent_connections_by_user on agent_connections (user_id);

-- What the authorization server remembers: codes, tokens, grants and half-finished approvals, under
-- the digest of the value that a caller presents. payload never holds that value.
create table oauth_artifacts (
  model text not null,
  id text not null,
  payload jsonb not null,
  grant_id text,
  user_code text,
  uid text,
  consumed_at timestamptz,
  expires_at timestamptz not null,
  -- Of a device code: when it was last asked for, and how many seconds to stay away.
  polled_at timestamptz,
  poll_seconds integer,
  primary key (model, id)
);
create index oauth_artifacts_by_grant on oauth_artifacts (grant_id) where grant_id is not null;
create unique index oauth_artifacts_by_user_code on oauth_artifacts (user_code)
  where user_code is not null;
create index oauth_artifacts_by_uid on oauth_artifacts (uid) where uid is not null;
create index oauth_artifacts_by_expiry on oauth_artifacts (expires_at);

-- Tokens that an owner issues for one ad account of a workspace.
create table execution_tokens (
  id integer generated always as identity primary key,
  workspace_id integer not null references workspaces (id),
  ad_account_id integer not null references ad_accounts (id),
  token_digest bytea not null unique,
  tier text not null check (tier in ('read', 'write', 'admin')),
  name text not null,
  last_characters text not null,
  issued_by integer not null references people.users (id) on delete cascade,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz
);
create index execution_tokens_by_workspace on execution_tokens (workspace_id, id);
