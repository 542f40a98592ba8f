import { parseArgs } from 'node:util'
import { ENTITY_TYPES, type EntityState } from '@signalbox/contract/agents/actions.ts'
import { listEntities } from '../agents/executor/ad-entity-store.ts'
import {
  applyExternalChange,
  type EntityLocation,
  type ExternalChange,
  SIMULATED_FAULTS,
  type SimulatedFault,
  setNextFault,
} from '../agents/executor/simulated-account-store.ts'
import type { Database } from '../db/database.ts'
import { requireCurrentSchema } from '../db/migrate.ts'
import { parseRowId } from '../util/row-id.ts'
import { openStore } from './open-store.ts'
import { type RoleContext, StartError } from './role.ts'

/**
 * Plays the ads manager for the simulated campaigns of an ad account: lists them, changes one
 * beside the agents, or makes the next change of one go wrong. For rehearsals.
 */
export async function runCampaigns(
  context: RoleContext,
  argumentList: readonly string[],
): Promise<void> {
  const command = parseCampaignsCommand(argumentList)
  const { settings, logger } = context
  const store = await openStore({ settings, logger, role: 'campaigns', embedded: 'join' })
  try {
    await requireCurrentSchema(store.database)
    await executeCommand({ ...context, database: store.database }, command)
  } finally {
    await store.close()
  }
}

interface CommandContext extends RoleContext {
  database: Database
}

function executeCommand(work: CommandContext, command: CampaignsCommand): Promise<void> {
  switch (command.task) {
    case 'list':
      return listCampaigns(work, command.adAccountId)
    case 'set':
      return changeCampaign(work, command)
    case 'fault':
      return setFault(work, command)
  }
}

async function listCampaigns(
  { database, printOutput: print }: CommandContext,
  adAccountId: number,
): Promise<void> {
  const { entities, omitted } = await listEntities(database, adAccountId)
  if (entities.length === 0) {
    throw new StartError(`There is no ad account ${adAccountId} with simulated campaigns here.`)
  }
  print(entities.map(formatEntityRow).join(''))
  if (omitted > 0) print(`${omitted} more are not shown.\n`)
}

async function changeCampaign(
  { database, now, printOutput: print }: CommandContext,
  { place, change }: Extract<CampaignsCommand, { task: 'set' }>,
): Promise<void> {
  const outcome = await applyExternalChange(database, place, { ...change, at: now() })
  if (outcome === 'no_entity') throw createNotFoundError(place)
  if (outcome === 'no_budget') {
    throw new StartError(
      `The ${formatEntityName(place)} has no budget of its own: change that of another.`,
    )
  }
  print(formatEntityRow(outcome.changed))
}

async function setFault(
  { database, printStatus: tell }: CommandContext,
  { place, fault }: Extract<CampaignsCommand, { task: 'fault' }>,
): Promise<void> {
  if (!(await setNextFault(database, place, fault))) throw createNotFoundError(place)
  tell(
    fault === null
      ? `The next change of the ${formatEntityName(place)} goes well.\n`
      : `The next change of the ${formatEntityName(place)} goes wrong: ${fault}.\n`,
  )
}

function createNotFoundError(place: EntityLocation): StartError {
  const { adAccountId } = place
  return new StartError(`The ad account ${adAccountId} here has no ${formatEntityName(place)}.`)
}

function formatEntityName({ type, id }: EntityLocation): string {
  return `${type.replace('_', ' ')} ${id}`
}

/** `ad_account:` and eighteen digits. */
const ENTITY_WIDTH = 29
/** Up to 2147483647. */
const BUDGET_WIDTH = 10

function formatEntityRow({
  type,
  id,
  status,
  daily_budget_minor,
  version,
  name,
}: EntityState): string {
  const budget = daily_budget_minor === null ? '-' : String(daily_budget_minor)
  const columns = [
    `${type}:${id}`.padEnd(ENTITY_WIDTH),
    status.padEnd('active'.length),
    budget.padStart(BUDGET_WIDTH),
    `v${version}`.padEnd('v999'.length),
    // Whoever manages the ads writes the names: none may break the line or steer the terminal.
    name.replaceAll(/\p{C}+/gu, ' '),
  ]
  return `${columns.join('  ').trimEnd()}\n`
}

/** What `campaigns` is asked to do with the simulated campaigns of an ad account. */
export type CampaignsCommand = { adAccountId: number } & (
  | { task: 'list' }
  | { task: 'set'; place: EntityLocation; change: ExternalChange }
  | { task: 'fault'; place: EntityLocation; fault: SimulatedFault | null }
)

const USAGE =
  'Usage: npm run campaigns -- list --account ID | ' +
  'set --account ID --entity TYPE:ID [--status active|paused] [--budget MINOR] [--name NAME] | ' +
  'fault --account ID --entity TYPE:ID --next ignored|altered|none'

const NAME_CHARACTERS_MAX = 255

/** Throws a StartError: how the command is used. */
export function parseCampaignsCommand([task, ...rest]: readonly string[]): CampaignsCommand {
  const { account, entity, next, ...change } = parseOptions(rest)
  const adAccountId = parseRowId(account)
  if (adAccountId === null) throw new StartError(USAGE)
  const hasChange = Object.keys(change).length > 0
  if (task === 'list' && !entity && !next && !hasChange) return { adAccountId, task }
  const place = { adAccountId, ...parseEntity(entity) }
  if (task === 'set' && hasChange && !next) {
    return { adAccountId, task, place, change: parseChange(change) }
  }
  if (task === 'fault' && !hasChange) return { adAccountId, task, place, fault: parseFault(next) }
  throw new StartError(USAGE)
}

function parseEntity(given: string | undefined): Pick<EntityLocation, 'type' | 'id'> {
  const [name, id = '', ...more] = (given ?? '').split(':')
  const type = ENTITY_TYPES.find(known => known === name)
  if (!type || more.length > 0 || !/^[1-9]\d{0,19}$/.test(id)) throw new StartError(USAGE)
  return { type, id }
}

type ChangeOptions = Pick<ReturnType<typeof parseOptions>, 'status' | 'budget' | 'name'>

/** Names are not cleaned: a rehearsal may well be of a hostile one. */
function parseChange({ status, budget, name }: ChangeOptions): ExternalChange {
  const dailyBudgetMinor = budget === undefined ? undefined : parseRowId(budget)
  const isStatus = status === undefined || status === 'active' || status === 'paused'
  const isName = name === undefined || isText(name)
  if (!isStatus || dailyBudgetMinor === null || !isName) throw new StartError(USAGE)
  return { status, dailyBudgetMinor, name }
}

function isText(name: string): boolean {
  const isShort = name !== '' && name.length <= NAME_CHARACTERS_MAX
  return isShort && name.isWellFormed() && !name.includes('\0')
}

function parseFault(next: string | undefined): SimulatedFault | null {
  const fault = SIMULATED_FAULTS.find(known => known === next) ?? null
  if (fault === null && next !== 'none') throw new StartError(USAGE)
  return fault
}

function parseOptions(list: string[]) {
  const text = { type: 'string' } as const
  const options = {
    account: text,
    entity: text,
    next: text,
    status: text,
    budget: text,
    name: text,
  }
  try {
    return parseArgs({ args: list, options }).values
  } catch (cause) {
    throw new StartError(USAGE, { cause })
  }
}
