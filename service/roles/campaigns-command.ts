import { parseArgs } from 'node:util'
import { ENTITY_TYPES } from '@signalbox/contract/agents/actions.ts'
import {
  type EntityLocation,
  type ExternalChange,
  SIMULATED_FAULTS,
  type SimulatedFault,
} from '../agents/executor/simulated-account-store.ts'
import { parseRowId } from '../util/row-id.ts'
import { StartError } from './start-error.ts'

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
export function campaignsCommand([task, ...rest]: readonly string[]): CampaignsCommand {
  const { account, entity, next, ...change } = optionsOf(rest)
  const adAccountId = parseRowId(account)
  if (adAccountId === null) throw new StartError(USAGE)
  const hasChange = Object.keys(change).length > 0
  if (task === 'list' && !entity && !next && !hasChange) return { adAccountId, task }
  const place = { adAccountId, ...entityOf(entity) }
  if (task === 'set' && hasChange && !next) {
    return { adAccountId, task, place, change: changeOf(change) }
  }
  if (task === 'fault' && !hasChange) return { adAccountId, task, place, fault: faultOf(next) }
  throw new StartError(USAGE)
}

function entityOf(given: string | undefined): Pick<EntityLocation, 'type' | 'id'> {
  const [name, id = '', ...more] = (given ?? '').split(':')
  const type = ENTITY_TYPES.find(known => known === name)
  if (!type || more.length > 0 || !/^[1-9]\d{0,19}$/.test(id)) throw new StartError(USAGE)
  return { type, id }
}

type ChangeOptions = Pick<ReturnType<typeof optionsOf>, 'status' | 'budget' | 'name'>

/** Names are not cleaned: a rehearsal may well be of a hostile one. */
function changeOf({ status, budget, name }: ChangeOptions): ExternalChange {
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

function faultOf(next: string | undefined): SimulatedFault | null {
  const fault = SIMULATED_FAULTS.find(known => known === next) ?? null
  if (fault === null && next !== 'none') throw new StartError(USAGE)
  return fault
}

function optionsOf(list: string[]) {
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
