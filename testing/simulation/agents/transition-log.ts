import type { ActionStatus, EntityState } from '@signalbox/contract/agents/actions.ts'
import type { Database } from '../../../service/db/database.ts'

/** One move of an action, as the store itself saw it. */
export interface ActionTransition {
  /** Which transaction of the store made it. */
  transaction: string
  actionId: number
  /** Null when the action was made. */
  from: ActionStatus | null
  to: ActionStatus
  /** What the move could rest on, read from the tables in that moment. */
  context: TransitionContext
}

export interface TransitionContext {
  accountStatus: string
  mode: string
  allowedTypes: string[] | null
  isCredentialLive: boolean
  isAnswerable: boolean
  deciderRole: string | null
  otherOwners: number
  /** The target, as it is after what the transaction did so far. */
  entity: (Pick<EntityState, 'status' | 'version'> & { daily_budget_minor: number | null }) | null
}

/** One change of a simulated entity. */
export interface EntityChange {
  transaction: string
  adAccountId: number
  type: string
  id: string
  versionBefore: number
  versionAfter: number
}

/**
 * Lets the store write down every move of an action with all that it could rest on, and every
 * change of an entity. What is read at the end cannot tell what happened on the way.
 */
export async function recordActionTransitions({ pool }: Database): Promise<void> {
  await pool.query(CREATE_TABLES)
  await pool.query(CREATE_TRANSITION_TRIGGER)
  await pool.query(CREATE_CHANGE_TRIGGER)
  await pool.query(
    `create trigger note_action_move after insert or update on agent_actions
     for each row execute function note_action_move()`,
  )
  await pool.query(
    `create trigger note_entity_change after update on ad_entities
     for each row execute function note_entity_change()`,
  )
}

const CREATE_TABLES = `
  create table seen_moves (
    position bigint generated always as identity primary key, transaction text not null,
    workspace_id integer not null, action_id integer not null, status_before text,
    status_after text not null, grounds jsonb not null
  );
  create table seen_changes (
    position bigint generated always as identity primary key, transaction text not null,
    ad_account_id integer not null, type text not null, id text not null,
    version_before integer not null, version_after integer not null
  )`

const CREATE_TRANSITION_TRIGGER = `
  create function note_action_move() returns trigger language plpgsql as $$
  declare batch agent_batches; grounds jsonb;
  begin
    if tg_op = 'UPDATE' and new.status = old.status then return null; end if;
    select * into batch from agent_batches where id = new.batch_id;
    grounds = jsonb_build_object(
      'accountStatus', (select status from ad_accounts where id = new.ad_account_id),
      'mode', coalesce((select execution_mode from agent_policies
        where workspace_id = new.workspace_id), 'suggest_only'),
      'allowedTypes', (select limits -> 'allowed_types' from agent_policies
        where workspace_id = new.workspace_id),
      'isCredentialLive', case batch.proposer_kind
        when 'connection' then exists (select from agent_connections
          where id = batch.proposer_id and revoked_at is null and grant_id is not null
            and ad_account_id = new.ad_account_id)
        else exists (select from execution_tokens
          where id = batch.proposer_id and revoked_at is null and expires_at > new.updated_at
            and ad_account_id = new.ad_account_id) end,
      'isAnswerable', exists (select from members join people.users person on person.id = user_id
        where workspace_id = new.workspace_id and user_id = batch.person_id and role = 'owner'
          and person.status = 'active'),
      'deciderRole', (select role from members
        where workspace_id = new.workspace_id and user_id = new.decided_by),
      'otherOwners', (select count(*) from members join people.users person on person.id = user_id
        where workspace_id = new.workspace_id and user_id <> batch.person_id and role = 'owner'
          and person.status = 'active'),
      'entity', (select jsonb_build_object('status', status, 'version', version,
          'daily_budget_minor', daily_budget_minor)
        from ad_entities where ad_account_id = new.ad_account_id and type = new.target_type
          and id = new.target_id));
    insert into seen_moves (transaction, workspace_id, action_id, status_before, status_after,
      grounds)
    values (pg_current_xact_id()::text, new.workspace_id, new.id,
      case when tg_op = 'UPDATE' then old.status end, new.status, grounds);
    return null;
  end $$`

const CREATE_CHANGE_TRIGGER = `
  create function note_entity_change() returns trigger language plpgsql as $$
  begin
    if new.version = old.version then return null; end if;
    insert into seen_changes (transaction, ad_account_id, type, id, version_before, version_after)
    values (pg_current_xact_id()::text, new.ad_account_id, new.type, new.id, old.version,
      new.version);
    return null;
  end $$`

/** Every move of a workspace, oldest first. */
export async function readActionTransitions(
  { pool }: Database,
  workspaceId: number,
): Promise<ActionTransition[]> {
  const { rows } = await pool.query(
    'select * from seen_moves where workspace_id = $1 order by position',
    [workspaceId],
  )
  return rows.map(row => ({
    transaction: row.transaction,
    actionId: row.action_id,
    from: row.status_before,
    to: row.status_after,
    context: row.grounds,
  }))
}

/** Every change of an entity of these ad accounts, oldest first. */
export async function readEntityChanges(
  { pool }: Database,
  adAccountIds: readonly number[],
): Promise<EntityChange[]> {
  const { rows } = await pool.query(
    'select * from seen_changes where ad_account_id = any($1) order by position',
    [adAccountIds],
  )
  return rows.map(row => ({
    transaction: row.transaction,
    adAccountId: row.ad_account_id,
    type: row.type,
    id: row.id,
    versionBefore: row.version_before,
    versionAfter: row.version_after,
  }))
}
