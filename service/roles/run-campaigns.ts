import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import { listEntities } from '../agents/executor/ad-entity-store.ts'
import {
  applyExternalChange,
  type EntityLocation,
  setNextFault,
} from '../agents/executor/simulated-account-store.ts'
import type { Database } from '../db/database.ts'
import { requireCurrentSchema } from '../db/migrate.ts'
import { type CampaignsCommand, campaignsCommand } from './campaigns-command.ts'
import { openStore } from './open-store.ts'
import type { RoleContext } from './role.ts'
import { StartError } from './start-error.ts'

/**
 * Plays the ads manager for the simulated campaigns of an ad account: lists them, changes one
 * beside the agents, or makes the next change of one go wrong. For rehearsals.
 */
export async function runCampaigns(
  context: RoleContext,
  argumentList: readonly string[],
): Promise<void> {
  const command = campaignsCommand(argumentList)
  const { settings, logger } = context
  const store = await openStore({ settings, logger, role: 'campaigns', embedded: 'join' })
  try {
    await requireCurrentSchema(store.database)
    await carryOut({ ...context, database: store.database }, command)
  } finally {
    await store.close()
  }
}

interface Work extends RoleContext {
  database: Database
}

function carryOut(work: Work, command: CampaignsCommand): Promise<void> {
  switch (command.task) {
    case 'list':
      return list(work, command.adAccountId)
    case 'set':
      return set(work, command)
    case 'fault':
      return fault(work, command)
  }
}

async function list({ database, print }: Work, adAccountId: number): Promise<void> {
  const { entities, omitted } = await listEntities(database, adAccountId)
  if (entities.length === 0) {
    throw new StartError(`There is no ad account ${adAccountId} with simulated campaigns here.`)
  }
  print(entities.map(entityLine).join(''))
  if (omitted > 0) print(`${omitted} more are not shown.\n`)
}

async function set(
  { database, now, print }: Work,
  { place, change }: Extract<CampaignsCommand, { task: 'set' }>,
): Promise<void> {
  const outcome = await applyExternalChange(database, place, { ...change, at: now() })
  if (outcome === 'no_entity') throw missing(place)
  if (outcome === 'no_budget') {
    throw new StartError(`The ${nameOf(place)} has no budget of its own: change that of another.`)
  }
  print(entityLine(outcome.changed))
}

async function fault(
  { database, tell }: Work,
  { place, fault }: Extract<CampaignsCommand, { task: 'fault' }>,
): Promise<void> {
  if (!(await setNextFault(database, place, fault))) throw missing(place)
  tell(
    fault === null
      ? `The next change of the ${nameOf(place)} goes well.\n`
      : `The next change of the ${nameOf(place)} goes wrong: ${fault}.\n`,
  )
}

function missing(place: EntityLocation): StartError {
  const { adAccountId } = place
  return new StartError(`The ad account ${adAccountId} here has no ${nameOf(place)}.`)
}

function nameOf({ type, id }: EntityLocation): string {
  return `${type.replace('_', ' ')} ${id}`
}

/** `ad_account:` and eighteen digits. */
const PLACE_WIDTH = 29
/** Up to 2147483647. */
const BUDGET_WIDTH = 10

function entityLine({ type, id, status, daily_budget_minor, version, name }: EntityState): string {
  const budget = daily_budget_minor === null ? '-' : String(daily_budget_minor)
  const columns = [
    `${type}:${id}`.padEnd(PLACE_WIDTH),
    status.padEnd('active'.length),
    budget.padStart(BUDGET_WIDTH),
    `v${version}`.padEnd('v999'.length),
    // Whoever manages the ads writes the names: none may break the line or steer the terminal.
    name.replaceAll(/\p{C}+/gu, ' '),
  ]
  return `${columns.join('  ').trimEnd()}\n`
}
