import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { ACTIONS_MAX } from '@signalbox/contract/agents/actions.ts'
import { BODY_BYTES_MAX } from '@signalbox/contract/errors.ts'
import { PER_PAGE_MAX } from '@signalbox/contract/event-pages.ts'
import { REPLAY_BYTES_MAX, REPLAY_LIMIT_MAX } from '@signalbox/contract/replays.ts'
import { EVENT_ID_CHARACTERS_MAX } from '@signalbox/contract/submissions.ts'
import {
  CONTENT_IDS_MAX,
  CONTENTS_BYTES_MAX,
  CONTENTS_ITEMS_MAX,
  CUSTOM_PROPERTIES_BYTES_MAX,
  CUSTOM_PROPERTIES_DEPTH_MAX,
  CUSTOM_PROPERTIES_MAX,
} from '@signalbox/contract/value-data.ts'
import { SETTINGS } from '../service/runtime/settings/settings.ts'
import { ORIGINS_MAX } from '../service/signals/access/authenticate-publishable-key.ts'
import { LIVE_KEYS_MAX } from '../service/signals/access/tracker-keys.ts'
import { backoffSeconds } from '../service/signals/delivery/retry-policy.ts'

const read = (page: string) => readFileSync(join(import.meta.dirname, page), 'utf8')

/** The rows of the tables of a page. */
function rowsOf(page: string) {
  return [...read(page).matchAll(/^\| (.+?) +\| (.+?) +\|(?: (.+?) +\|)?$/gm)].map(
    ([, what = '', limit = '', last = '']) => ({ what, limit, last }),
  )
}

const rows = rowsOf('guides/limits.md')

const NUMBERS: [what: string, ...limits: number[]][] = [
  ['Body of a request', BODY_BYTES_MAX],
  ['Body of replayDeliveries and of proposals', REPLAY_BYTES_MAX],
  ['`event_id`, `parent_event_id`', EVENT_ID_CHARACTERS_MAX],
  ['`value_data.contents`', CONTENTS_ITEMS_MAX, CONTENTS_BYTES_MAX],
  ['`value_data.content_ids`', CONTENT_IDS_MAX],
  [
    '`value_data.custom_properties`',
    CUSTOM_PROPERTIES_MAX,
    CUSTOM_PROPERTIES_BYTES_MAX,
    CUSTOM_PROPERTIES_DEPTH_MAX,
  ],
  ['Deliveries of one replay', REPLAY_LIMIT_MAX],
  ['Events of one page of a list', PER_PAGE_MAX],
  ['Actions of one proposal', ACTIONS_MAX],
  ['Live keys of one kind for each tracker', LIVE_KEYS_MAX],
  ['Origins of a publishable key', ORIGINS_MAX],
  ['Test mode', Number(SETTINGS.testModeHours.default)],
  ['Identity of events', Number(SETTINGS.payloadRetentionDays.default)],
  ['Events, deliveries and reports', Number(SETTINGS.ledgerRetentionMonths.default)],
  ['Requests to the platform and their answers', Number(SETTINGS.attemptRetentionDays.default)],
]

it('the page has the limits of the code', () => {
  for (const [what, ...limits] of NUMBERS) {
    const row = rows.find(candidate => candidate.what === what)
    const numbers = row?.limit
      .replaceAll(',', '')
      .match(/\d+/g)
      ?.map(Number)
      .slice(0, limits.length)
    assert.deepEqual(numbers, limits, what)
  }
})

it('the page has the default of each rate that it names', () => {
  const defaults = new Map(
    Object.values(SETTINGS).map(setting => [setting.variable as string, setting.default]),
  )
  const rates = rows.filter(({ last }) => last.startsWith('`SIGNALBOX_'))
  assert.ok(rates.length > 5)
  for (const { limit, last } of rates) {
    const [rate = ''] = /^[\d,]+/.exec(limit) ?? []
    assert.equal(rate.replaceAll(',', ''), defaults.get(last.slice(1, -1)), last)
  }
})

/** Of `operations/retention.md`: what is kept, and the setting of the period. */
const PERIODS: [what: string, setting: { variable: string; default?: string | undefined }][] = [
  ['Identity payload: ', SETTINGS.payloadRetentionDays],
  ['Requests to the platform ', SETTINGS.attemptRetentionDays],
  ['Sign-ins and their failures, ', SETTINGS.securityEventRetentionDays],
  ['Events with their deliveries ', SETTINGS.ledgerRetentionMonths],
  ['Reconciliation reports, ', SETTINGS.ledgerRetentionMonths],
]

it('the page of retention has the default of each period, in both tables', () => {
  const kept = rowsOf('operations/retention.md')
  for (const [what, setting] of PERIODS) {
    const row = kept.find(candidate => candidate.what.startsWith(what))
    assert.equal(row?.limit.split(' ')[0], setting.default, what)
    const own = kept.find(candidate => candidate.what === `\`${setting.variable}\``)
    assert.equal(own?.limit, setting.default, setting.variable)
  }
  const periods = Object.values(SETTINGS).filter(({ variable }) => variable.includes('RETENTION'))
  assert.deepEqual(new Set(PERIODS.map(([, setting]) => setting)), new Set(periods))
})

/** The delay after the first, second, ... failed attempt, at the middle of the jitter. */
const delays = Array.from({ length: 20 }, (_, index) =>
  backoffSeconds({ attemptNumber: index + 1, waitSecondsMin: 0, random: 0.5 }),
)
const longest = Math.max(...delays)

it('the page has the longest delay between two attempts', () => {
  const row = rows.find(({ what }) => what === 'Retries')
  assert.match(row?.limit ?? '', new RegExp(`at most ${longest / 3_600} hours apart`))
})

it('the filled gaps have the schedule of retries', () => {
  const schedule = [...delays.slice(0, delays.indexOf(longest)).map(toWords)]
  const sentence = `${schedule.join(', ')}, then every ${toWords(longest)}`
  assert.ok(read('filled-gaps.md').includes(`**Retry schedule.** ${sentence},`), sentence)
})

function toWords(seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  return seconds < 3_600 ? `${seconds / 60} min` : `${seconds / 3_600} h`
}
