import { ENTITY_TYPES, type EntityState } from '@signalbox/contract/agents/actions.ts'
import { Command } from 'commander'
import {
  applyExternalChange,
  type EntityLocation,
  type ExternalChange,
  SIMULATED_FAULTS,
  type SimulatedFault,
  setNextFault,
} from '../../agents/campaigns/simulated-account-store.ts'
import { listEntities } from '../../agents/campaigns/simulated-campaign-store.ts'
import type { Database } from '../../runtime/db/database.ts'
import { isStorableText } from '../../runtime/http/validator.ts'
import { parseRowId } from '../../runtime/util/ids.ts'
import { runOnStore } from './open-store.ts'
import { parseChoiceOf, parseRowIdOf } from './option-values.ts'
import { type RoleContext, StartError } from './role.ts'
import { formatTable, stripControlCharacters } from './terminal-table.ts'

/**
 * Acts as the ads manager of an ad account with simulated campaigns: lists them, changes one
 * outside Signalbox, or makes the next change of one fail. For tests and demos.
 */
export async function runCampaigns(context: RoleContext, request: CampaignsRequest): Promise<void> {
  await runOnStore(context, 'campaigns', async ({ database }) => {
    await executeRequest({ ...context, database }, request)
  })
}

interface CommandContext extends RoleContext {
  database: Database
}

function executeRequest(context: CommandContext, request: CampaignsRequest): Promise<void> {
  switch (request.task) {
    case 'list':
      return listCampaigns(context, request.adAccountId)
    case 'set':
      return changeCampaign(context, request)
    case 'fault':
      return setFault(context, request)
  }
}

const ENTITIES_SHOWN_MAX = 500

async function listCampaigns(
  { database, printOutput }: CommandContext,
  adAccountId: number,
): Promise<void> {
  const perPage = ENTITIES_SHOWN_MAX
  const { entities, omitted } = await listEntities(database, adAccountId, { perPage })
  if (entities.length === 0) {
    throw new StartError(`There is no ad account ${adAccountId} with simulated campaigns here.`)
  }
  printOutput(formatEntityTable(entities))
  if (omitted > 0) printOutput(`${omitted} more are not shown.\n`)
}

async function changeCampaign(
  { database, now, printOutput }: CommandContext,
  { location, change }: Extract<CampaignsRequest, { task: 'set' }>,
): Promise<void> {
  const outcome = await applyExternalChange(database, location, { ...change, at: now() })
  if (outcome === 'no_entity') throw createNotFoundError(location)
  if (outcome === 'no_budget') {
    throw new StartError(`The ${formatEntityName(location)} has no budget of its own.`)
  }
  printOutput(formatEntityTable([outcome.changed]))
}

async function setFault(
  { database, printStatus }: CommandContext,
  { location, fault }: Extract<CampaignsRequest, { task: 'fault' }>,
): Promise<void> {
  if (!(await setNextFault(database, location, fault))) throw createNotFoundError(location)
  printStatus(
    fault === null
      ? `The next change of the ${formatEntityName(location)} succeeds.\n`
      : `The next change of the ${formatEntityName(location)} fails: ${fault}.\n`,
  )
}

function createNotFoundError(location: EntityLocation): StartError {
  const { adAccountId } = location
  return new StartError(`The ad account ${adAccountId} here has no ${formatEntityName(location)}.`)
}

function formatEntityName({ type, id }: EntityLocation): string {
  return `${type.replace('_', ' ')} ${id}`
}

function formatEntityTable(entities: readonly EntityState[]): string {
  const header = ['ENTITY', 'STATUS', 'BUDGET', 'VERSION', 'NAME']
  const rows = entities.map(({ type, id, status, daily_budget_minor, version, name }) => [
    `${type}:${id}`,
    status,
    daily_budget_minor === null ? '-' : String(daily_budget_minor),
    `v${version}`,
    stripControlCharacters(name),
  ])
  return formatTable([header, ...rows], { columns: [{}, {}, { align: 'right' }, {}, {}] })
}

/** What to do with the simulated campaigns of an ad account. */
export type CampaignsRequest = { adAccountId: number } & (
  | { task: 'list' }
  | { task: 'set'; location: EntityLocation; change: ExternalChange }
  | { task: 'fault'; location: EntityLocation; fault: SimulatedFault | null }
)

type Entity = Pick<EntityLocation, 'type' | 'id'>

export function defineCampaignsCommand(
  handle: (request: CampaignsRequest) => Promise<void>,
): Command {
  const command = new Command()
  command
    .command('list')
    .description('list the campaigns, ad sets and ads of an ad account')
    .requiredOption(...ACCOUNT_OPTION)
    .action(({ account }) => handle({ task: 'list', adAccountId: account }))
  command
    .command('set')
    .description('change one of them, as its owner could outside Signalbox')
    .requiredOption(...ACCOUNT_OPTION)
    .requiredOption(...ENTITY_OPTION)
    .option(
      '--status <status>',
      'active or paused',
      parseChoiceOf('--status', ['active', 'paused']),
    )
    .option('--budget <minor>', 'daily budget in minor units of the currency', parseBudget)
    .option(
      '--lifetime-budget <minor>',
      'what a campaign may spend in its life, beside its daily budget',
      parseBudget,
    )
    .option('--name <name>', 'name, which may be hostile', parseName)
    .action(options => handle(readSetRequest(options)))
  command
    .command('fault')
    .description('make the next change of one of them fail')
    .requiredOption(...ACCOUNT_OPTION)
    .requiredOption(...ENTITY_OPTION)
    .requiredOption(
      '--next <fault>',
      'ignored, altered or none',
      parseChoiceOf('--next', [...SIMULATED_FAULTS, 'none']),
    )
    .action(({ account: adAccountId, entity, next }: FaultOptions) =>
      handle({
        task: 'fault',
        adAccountId,
        location: { adAccountId, ...entity },
        fault: next === 'none' ? null : next,
      }),
    )
  return command
}

const ACCOUNT_OPTION = [
  '--account <id>',
  'ID of the ad account',
  parseRowIdOf('--account'),
] as const
const ENTITY_OPTION = [
  '--entity <type:id>',
  'such as campaign:120200000000001001, as list shows it',
  parseEntity,
] as const

interface SetOptions {
  account: number
  entity: Entity
  status?: 'active' | 'paused'
  budget?: number
  lifetimeBudget?: number
  name?: string
}

interface FaultOptions {
  account: number
  entity: Entity
  next: SimulatedFault | 'none'
}

function readSetRequest({ account: adAccountId, entity, ...change }: SetOptions): CampaignsRequest {
  if (Object.keys(change).length === 0) {
    throw new StartError(
      'campaigns set needs at least one of --status, --budget, --lifetime-budget and --name.',
    )
  }
  const { status, budget: dailyBudgetMinor, lifetimeBudget: lifetimeBudgetMinor, name } = change
  const location = { adAccountId, ...entity }
  return {
    task: 'set',
    adAccountId,
    location,
    change: { status, dailyBudgetMinor, lifetimeBudgetMinor, name },
  }
}

function parseEntity(text: string): Entity {
  const [name, id = '', ...more] = text.split(':')
  const type = ENTITY_TYPES.find(known => known === name)
  if (type && more.length === 0 && /^[1-9]\d{0,19}$/.test(id)) return { type, id }
  throw new StartError(
    `--entity takes ${ENTITY_TYPES.join(', ')} and an ID, such as campaign:120200000000001001, ` +
      `not ${text}.`,
  )
}

function parseBudget(text: string): number {
  const budget = parseRowId(text)
  if (budget !== null) return budget
  throw new StartError(
    `--budget takes a whole number of minor units from 1 to 2147483647, not ${text}.`,
  )
}

const NAME_CHARACTERS_MAX = 255

/** Control characters and markup are allowed: a test may need a hostile name. */
function parseName(text: string): string {
  const isShort = text !== '' && text.length <= NAME_CHARACTERS_MAX
  if (isShort && isStorableText(text)) return text
  throw new StartError(`--name takes 1 to ${NAME_CHARACTERS_MAX} characters.`)
}
