import type { Database } from '../../runtime/db/database.ts'
import { isUuid, parseRowId } from '../../runtime/util/ids.ts'
import { isCalendarDay, toDaySpan } from '../../runtime/util/time.ts'
import {
  normalizeOriginPattern,
  ORIGINS_MAX,
} from '../../signals/access/authenticate-publishable-key.ts'
import {
  findTracker,
  listFirstTrackers,
  listTrackersOfWorkspace,
  type TrackerIdentity,
} from '../../signals/access/tracker-store.ts'
import type { TargetConfig } from '../../signals/platforms/platform.ts'
import { createOfflinePlatforms } from '../../signals/platforms/registry.ts'
import { StartError } from './role.ts'

/** What the setting `share_page_ids` trusts, for those who choose. */
export const SHARING_MEANING =
  'on: platforms count a page, their own pixel and the back end with the same event ID once; it ' +
  'trusts the pages, because who copies their key can send an ID before the back end does, and ' +
  "the platform then drops the back end's event. off: events of pages get the prefix p. where " +
  'the back end sends the same name too.'

/** A tracker by its ID, or by its workspace, whose ID single-event reads show as the tracker's. */
export type TrackerReference = { trackerId: string } | { workspaceId: number }

/** Throws a StartError for what is neither a UUID nor the ID of a workspace. */
export function parseTracker(text: string): TrackerReference {
  if (isUuid(text)) return { trackerId: text.toLowerCase() }
  const workspaceId = parseRowId(text)
  if (workspaceId !== null) return { workspaceId }
  throw new StartError(
    `--tracker takes the ID of a tracker, as "signalbox-server credential list" shows it, or of ` +
      `its workspace, not ${text}.`,
  )
}

export function parseDestination(text: string): string {
  if (isUuid(text)) return text.toLowerCase()
  throw new StartError(
    `--destination takes an ID as "signalbox-server credential list" shows it, not ${text}.`,
  )
}

/** Where a destination of the default platform sends. */
export function parseDataset(text: string): TargetConfig {
  const config = { dataset_id: text }
  if (createOfflinePlatforms().default.parseTarget(config) !== null) return config
  throw new StartError(`--dataset takes the digits of a dataset ID, not ${text}.`)
}

/** Adds one member of a destination's `config`, for platforms without datasets. */
export function collectTargetMember(text: string, config: TargetConfig): TargetConfig {
  const [, name, value] = /^([a-z][a-z0-9_]*)=(.+)$/.exec(text) ?? []
  if (name && value) return { ...config, [name]: value }
  throw new StartError(
    `--target takes a member of the destination's config and its value, name=value, not ${text}.`,
  )
}

/** Adds one origin, in the form in which it is stored, to those before it. */
export function collectOrigin(text: string, origins: string[]): string[] {
  const pattern = normalizeOriginPattern(text)
  if (pattern === null) {
    throw new StartError(
      '--origin takes what browsers send, such as https://shop.example, or one of the wildcards ' +
        `https://*.shop.example and http://127.0.0.1:*, not ${text}.`,
    )
  }
  if (origins.length === ORIGINS_MAX) {
    throw new StartError(`A publishable key has at most ${ORIGINS_MAX} origins.`)
  }
  return [...origins, pattern]
}

/** For an option that takes the ID of a row. */
export function parseRowIdOf(option: string): (text: string) => number {
  return text => {
    const id = parseRowId(text)
    if (id !== null) return id
    throw new StartError(`${option} takes an ID, a whole number such as 1, not ${text}.`)
  }
}

/** For an option that takes a time: a day, from its start in UTC, or a time with its zone. */
export function parseTimeOf(option: string): (text: string) => Date {
  return text => {
    if (isCalendarDay(text)) return toDaySpan(text).from
    const time = new Date(text)
    if (ISO_TIME.test(text) && !Number.isNaN(time.getTime())) return time
    throw new StartError(
      `${option} takes a day or a time such as 2026-11-23 or 2026-11-23T10:00:00Z, not ${text}.`,
    )
  }
}

const ISO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/

/** For an option that takes one of a few values. */
export function parseChoiceOf<Choice extends string>(
  option: string,
  choices: readonly Choice[],
): (text: string) => Choice {
  return text => {
    const choice = choices.find(each => each === text)
    if (choice !== undefined) return choice
    throw new StartError(`${option} takes one of ${choices.join(', ')}, not ${text}.`)
  }
}

/** Throws a StartError when there is no such tracker, or more than one. */
export async function findTrackerArgument(
  database: Database,
  reference: TrackerReference,
): Promise<TrackerIdentity> {
  if ('trackerId' in reference) {
    const tracker = await findTracker(database, reference.trackerId)
    if (tracker) return tracker
    throw new StartError(`There is no tracker ${reference.trackerId} here.`)
  }
  const { workspaceId } = reference
  const [tracker, ...others] = await listTrackersOfWorkspace(database, workspaceId)
  if (!tracker) throw new StartError(`There is no workspace ${workspaceId} with a tracker here.`)
  if (others.length === 0) return tracker
  const ids = [tracker, ...others].map(({ trackerId }) => trackerId)
  throw new StartError(
    `Workspace ${workspaceId} has several trackers: name one of ${ids.join(', ')}.`,
  )
}

/** For an option that may be left out. Throws a StartError when the store has none, or several. */
export async function findOnlyTracker(database: Database): Promise<TrackerIdentity> {
  const [tracker, another] = await listFirstTrackers(database, 2)
  if (!tracker) throw new StartError('There is no tracker here: create one with provision.')
  if (another) throw new StartError('There are several trackers here: name one with --tracker.')
  return tracker
}
