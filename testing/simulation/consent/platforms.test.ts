import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isShortRun } from '../../fixtures/seeded-random.ts'
import { listGoogleReceipts, listReceipts, listWebhookMessages } from '../../fixtures/simulator.ts'
import { decide } from './consent-facts.ts'
import type { ExpectedOutcome, SentEvent } from './oracle.ts'
import { CONVERSION_ACTIONS, runTable, type TableResult } from './run-table.ts'

/**
 * The black box: events under mixed consent go in over HTTP, and each platform's simulator has to
 * hold exactly what an oracle allows that was written by the consent guide and imports nothing of
 * the service's decisions.
 */
const EVENTS = Number(process.env.SIGNALBOX_TABLE_EVENTS ?? (isShortRun() ? 500 : 10_000))
const SEED = Number(process.env.SIGNALBOX_TEST_SEED ?? 34)

it('each platform gets exactly the events and digests that consent allows', {
  timeout: 1_800_000,
}, async test => {
  const result = await runTable(test, { seed: SEED, events: EVENTS })
  const { oracle, events, refused, withdrawals, surprises } = result
  assert.deepEqual(surprises.slice(0, 20), [], `${surprises.length} surprises`)
  const checks = [checkMeta, checkGoogle, checkWebhook]
  const problems = (await Promise.all(checks.map(check => check(result)))).flat()
  assert.deepEqual(problems.slice(0, 20), [], `${problems.length} problems`)
  assert.deepEqual(await checkStatuses(result), [])
  test.diagnostic(`${events} events (${refused} refused with 422), ${withdrawals} withdrawals`)
  for (const [platform, sent] of Object.entries(oracle.sent)) {
    const expected = [...oracle.expected].filter(([key]) => key.endsWith(` ${platform}`))
    const counts = Object.entries(Object.groupBy(expected, ([, outcome]) => outcome))
    const text = counts
      .map(([outcome, own]) => `${own?.length} ${outcome}`)
      .sort()
      .join(', ')
    assert.ok(sent.size > events / 5 && sent.size < events, `${platform} got ${sent.size}`)
    test.diagnostic(`${platform}: ${sent.size} received, as allowed (${text})`)
  }
})

// biome-ignore lint/suspicious/noExplicitAny: what a simulator received
type Received = any

async function checkMeta({ service, oracle }: TableResult): Promise<string[]> {
  const receipts = (await listReceipts(service.simulatorUrl)) as Received[]
  const allowed = oracle.sent.meta
  return [
    ...compareSets(
      'Meta',
      receipts.map(({ event_id }) => event_id),
      [...allowed.keys()],
    ),
    ...receipts.flatMap(({ event_id, user_data, other_members }) => {
      const sent = allowed.get(event_id)?.event
      if (sent === undefined) return []
      const { em, ph, external_id, country } = user_data
      const own = {
        ...(em && { em }),
        ...(ph && { ph }),
        ...(external_id && { external_id }),
        country,
      }
      const options = other_members?.data_processing_options ?? null
      return compare(`Meta ${event_id}`, [
        [sort(own), sort(sent.identification.meta)],
        [options, sent.form.members.data_processing_options ?? null],
      ])
    }),
  ]
}

async function checkGoogle({ service, oracle }: TableResult): Promise<string[]> {
  const receipts = await listGoogleReceipts(service.simulatorUrl)
  const allowed = new Map(
    [...oracle.sent.google_ads.values()].map(delivery => [toTransaction(delivery.event), delivery]),
  )
  const received = receipts.map(({ transaction_id }) => transaction_id)
  return [
    ...compareSets('Google', received, [...allowed.keys()]),
    ...receipts.flatMap(({ transaction_id, conversion_action, event, outcome }) => {
      const delivery = allowed.get(transaction_id)
      if (delivery === undefined) return []
      const { identification, eventName, person, isPage } = delivery.event
      const identifiers = ((event.userData?.userIdentifiers ?? []) as Received[]).flatMap(one =>
        Object.values(one),
      )
      const isAmerican = person.country === 'us'
      return compare(`Google ${transaction_id}`, [
        [outcome, 'new'],
        [conversion_action, CONVERSION_ACTIONS[eventName]],
        [identifiers.sort(), identification.google.toSorted()],
        [event.adIdentifiers?.gclid ?? null, identification.gclid],
        [
          event.consent,
          {
            adUserData: 'CONSENT_GRANTED',
            adPersonalization: `CONSENT_${delivery.decision.isPersonalized ? 'GRANTED' : 'DENIED'}`,
          },
        ],
        ...(isPage
          ? []
          : [
              [
                event.eventDeviceInfo?.ipAddress ?? null,
                isAmerican ? identification.ipAddress : null,
              ] as [unknown, unknown],
            ]),
      ])
    }),
  ]
}

/** It gets the normal forms of the contract, which are those of Meta, and no vendor is about it. */
async function checkWebhook({ service, oracle }: TableResult): Promise<string[]> {
  const messages = await listWebhookMessages(service.simulatorUrl)
  const received = messages.flatMap(({ data }) => data.events as Received[])
  const allowed = oracle.sent.webhook
  return [
    ...compareSets(
      'Webhook',
      received.map(({ event_id }) => event_id),
      [...allowed.keys()],
    ),
    ...received.flatMap(({ event_id, user = {}, consent, click_ids }) => {
      const sent = allowed.get(event_id)?.event
      if (sent === undefined) return []
      const { meta, gclid } = sent.identification
      const isGoogleGranted = decide(sent.form, 'google_ads').outcome === 'granted'
      return compare(`Webhook ${event_id}`, [
        [
          [user.email_sha256, user.phone_sha256, user.external_id_sha256],
          [meta.em, meta.ph, meta.external_id],
        ],
        // What Google's ad left is not kept where the person refuses Google.
        [click_ids?.gclid ?? null, isGoogleGranted ? gclid : null],
        [consent.data_processing_options, sent.form.members.data_processing_options],
        [consent.ad_personalization, sent.form.members.opt_out ? 'denied' : 'granted'],
      ])
    }),
  ]
}

function toTransaction({ orderId, eventId }: SentEvent): string {
  return orderId ?? eventId
}

const STATUSES: Record<ExpectedOutcome, RegExp> = {
  sent: /^accepted$/,
  refused: /^skipped:consent$/,
  withheld: /^skipped:consent$/,
  withdrawn: /^skipped:consent$/,
  'not selected': /^skipped:not_selected$/,
  unmatchable: /^failed:permanent$/,
}

/** What the service says of each delivery, read from its store. */
async function checkStatuses({ service, oracle }: TableResult): Promise<string[]> {
  const { rows } = await service.database.pool.query(
    `select delivery.event_id, destination.type, delivery.status
     from all_deliveries delivery join destinations destination
       on destination.tracker_id = delivery.tracker_id
       and destination.id = delivery.destination_id
     where delivery.tracker_id = $1`,
    [service.tracker.trackerId],
  )
  const told = new Map(rows.map(row => [`${row.event_id} ${row.type}`, row.status as string]))
  const wrong = [...oracle.expected].flatMap(([key, outcome]) =>
    STATUSES[outcome].test(told.get(key) ?? '') ? [] : [`${key}: ${told.get(key)}, not ${outcome}`],
  )
  const unknown = [...told.keys()].filter(key => !oracle.expected.has(key))
  return [...wrong, ...unknown.map(key => `${key} is not known`)].slice(0, 20)
}

function compareSets(platform: string, received: string[], allowed: string[]): string[] {
  const [own, may] = [new Set(received), new Set(allowed)]
  return [
    ...[...own].filter(id => !may.has(id)).map(id => `${platform} got ${id}, which is not allowed`),
    ...[...may].filter(id => !own.has(id)).map(id => `${platform} did not get ${id}`),
    ...(received.length > own.size ? [`${platform} got ${received.length - own.size} twice`] : []),
  ]
}

function compare(what: string, pairs: [actual: unknown, expected: unknown][]): string[] {
  return pairs.flatMap(([actual, expected]) => {
    const [one, other] = [JSON.stringify(actual), JSON.stringify(expected)]
    return one === other ? [] : [`${what}: ${one}, not ${other}`]
  })
}

function sort(digests: Record<string, string[]>): [string, string[]][] {
  return Object.entries(digests).sort(([one], [other]) => (one < other ? -1 : 1))
}
