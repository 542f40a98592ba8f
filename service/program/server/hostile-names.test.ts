import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, it } from 'node:test'
import { startCli } from '../../../clients/cli/testing/run-command.ts'
import { runCommand } from '../../../testing/fixtures/command-line.ts'
import { openDestination } from '../../../testing/fixtures/dashboard.ts'
import { createDataFolder } from '../../../testing/fixtures/data-folder.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { connectSimulated } from '../../../testing/fixtures/two-platforms.ts'

/** Names that mean something to JavaScript. A caller means only what it would mean by `note`. */
const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '__defineGetter__',
]
/** The objects of an event into which a caller may write any name. */
const OPEN_OBJECTS = [
  '{',
  '"consent":{',
  '"consent_mode":{',
  '"tcf":{',
  '"user_data":{',
  '"click_ids":{',
  '"value_data":{',
  '"custom_properties":{',
  '"contents":[{',
  '"app_data":{',
]
const REPEATED = '{"event_names":{"__proto__":"a","__proto__":"b"}}'
const LONE_SURROGATE = '{"event_names":{"\\ud800":"a"}}'

const PROTOTYPE = Object.getOwnPropertyNames(Object.prototype)

afterEach(() => assert.deepEqual(Object.getOwnPropertyNames(Object.prototype), PROTOTYPE))

function writeEvent(name: string, event_id: string): string {
  const text = JSON.stringify(
    samplePurchase({
      event_id,
      consent_mode: { ad_storage: 'granted', ad_user_data: 'granted' },
      tcf: { captured_at: '2026-11-21T11:00:00Z' },
      click_ids: { fbp: 'fb.1.1795262400000.1234567890' },
      value_data: {
        value: '1',
        currency: 'EUR',
        custom_properties: { color: 'red' },
        contents: [{ id: 'mug' }],
      },
      app_data: { application_tracking_enabled: 1 },
    }),
  )
  return OPEN_OBJECTS.reduce((whole, place) => {
    assert.ok(whole.includes(place), place)
    return whole.replace(place, `${place}${JSON.stringify(name)}:"mark",`)
  }, text)
}

/** What an answer says, with `note` in the place of the name. */
function describe(value: unknown, name: string): string {
  return JSON.stringify(value)
    .replaceAll(name, 'note')
    .replaceAll(/\.(?:note|\*)/g, '.note')
}

it('answers and stores an event with a name of JavaScript as with any other', async test => {
  const service = await startTestService(test)
  const rawBody = writeEvent('note', 'event-note')
  const usual = await service.request('POST', '/api/v1/events', { rawBody })
  assert.equal(usual.status, 202, usual.text)
  // Of consent, only names that may be stored are told.
  const isTold = ({ field }: { field: string }) => !/^(?:consent|consent_mode|tcf)\b/.test(field)
  const notices = (reply: typeof usual, name: string) =>
    describe(reply.body.notices.filter(isTold), name)
  const stored = (await service.read('event-note')).body.event
  for (const name of NAMES) {
    const event_id = `event-${name}`
    const body = writeEvent(name, event_id)
    const own = await service.request('POST', '/api/v1/events', { rawBody: body })
    assert.equal(own.status, 202, own.text)
    assert.equal(notices(own, name), notices(usual, 'note'))
    const { event } = (await service.read(event_id)).body
    const members = ['value_data', 'click_ids', 'user_data_hashed']
    for (const member of members) {
      assert.equal(describe(event[member], name), describe(stored[member], 'note'), member)
    }
    assert.ok(Object.hasOwn(event.value_data.custom_properties, name))
    assert.ok(Object.hasOwn(event.value_data.contents[0], name))
    // Another body under the same ID is told, however it differs.
    const again = await service.request('POST', '/api/v1/events', {
      rawBody: body.replaceAll(`${JSON.stringify(name)}:"mark",`, ''),
    })
    assert.equal(again.body.notices?.[0].code, 'differs_from_stored', name)
  }
  assert.equal(await service.deliver(), NAMES.length + 1)
  const { events } = await service.received()
  for (const { event_id, custom_data } of events) {
    const properties: Record<string, unknown> = custom_data ?? {}
    assert.equal(properties[String(event_id).slice('event-'.length)], 'mark')
  }
})

it('counts a choice under the names of members, and none under __proto__', async test => {
  const service = await startTestService(test)
  const { consent: _, ...event } = samplePurchase()
  for (const name of ['note', ...NAMES]) {
    for (const [beside, word] of [
      ['"ad_user_data":"granted",', 'denied'],
      ['"ad_user_data":"denied",', 'granted'],
      ['', 'granted'],
      ['', 'denied'],
    ] as const) {
      const event_id = `${name} ${beside} ${word}`.replaceAll('"', '')
      const rawBody = JSON.stringify({ ...event, event_id, consent: {} }).replace(
        '"consent":{',
        `"consent":{${beside}${JSON.stringify(name)}:{"ad_user_data":"${word}"}`,
      )
      const counted = name === '__proto__' ? beside : `${beside}${word}`
      const status = counted.includes('denied') ? 422 : 202
      const reply = await service.request('POST', '/api/v1/events', { rawBody })
      assert.equal(reply.status, status, `${rawBody}: ${reply.text}`)
      const batch = await service.request('POST', '/api/v1/events/batch', {
        rawBody: `{"events":[${rawBody}]}`,
      })
      assert.equal(batch.body.results[0].status, status === 202 ? 200 : status, rawBody)
      if (status === 422) continue
      const told = reply.body.notices.map(({ field }: { field: string }) => field)
      assert.equal(told.includes(`consent.${name}`), name !== '__defineGetter__', reply.text)
      const { reason } = (await service.read(event_id)).body.event.consent.decision
      assert.equal(reason === 'granted_by_consent', counted.includes('granted'), rawBody)
    }
  }
})

it('routes an event by the entry of its own name, or not at all', async test => {
  const service = await startTestService(test)
  const { owner, one, list } = await openDestination(service)
  const { destinationId } = await connectSimulated(service, 'google_ads')
  const google = `${list}/${destinationId}`
  const write = (names: readonly string[], target: string) =>
    JSON.parse(`{"event_names":{${names.map(name => `"${name}":"${target}"`).join(',')}}}`)
  const change = async (path: string, body: object) => {
    const { status, body: answer } = await owner.client.call('PATCH', `${path}/routing`, { body })
    assert.equal(status, 200, JSON.stringify(answer))
    assert.deepEqual(listNames(answer), listNames(body))
  }
  const submit = async (prefix: string) => {
    for (const name of NAMES) {
      const event = samplePurchase({ event_id: `${prefix}-${name}`, event_name: name })
      assert.equal((await service.submit(event)).status, 202, name)
    }
  }
  await submit('unmapped')
  await change(one, write(NAMES, 'Purchase'))
  await change(google, write(NAMES, '123456789'))
  await submit('mapped')
  const preview = await owner.client.call('POST', `${google}/routing/preview`, { body: {} })
  assert.equal(preview.body.selected, 2 * NAMES.length)
  await service.deliver()
  const { events } = await service.received()
  const sent = Object.fromEntries(events.map(event => [event.event_id, event.event_name]))
  for (const name of NAMES) {
    assert.equal(sent[`unmapped-${name}`], name)
    assert.equal(sent[`mapped-${name}`], 'Purchase')
    assert.deepEqual(await readGoogle(service, `unmapped-${name}`, destinationId), [
      'skipped:not_selected',
    ])
    assert.deepEqual(await readGoogle(service, `mapped-${name}`, destinationId), ['accepted'])
  }
})

function listNames({ event_names = {} }: { event_names?: object }): string[] {
  return Object.keys(event_names).sort()
}

async function readGoogle(service: TestService, eventId: string, destinationId: string) {
  const { deliveries } = (await service.read(eventId)).body
  return deliveries
    .filter((delivery: { destination_id: string }) => delivery.destination_id === destinationId)
    .map((delivery: { status: string }) => delivery.status)
}

it('refuses a member that a destination does not have, with its name', async test => {
  const service = await startTestService(test)
  const { owner, list, one } = await openDestination(service)
  for (const name of [...NAMES, 'datasetid']) {
    const config = JSON.parse(`{"dataset_id":"123456","${name}":"x"}`)
    const body = { type: 'meta', config, access_token: 'EAAB' }
    const connected = await owner.client.call('POST', list, { body })
    const replaced = await owner.client.call('PUT', `${one}/credential`, {
      body: { access_token: 'EAAB', config },
    })
    // A name that may be of a person is not repeated.
    const field = /[A-Z]/.test(name) ? 'config' : `config.${name}`
    for (const { status, body: answer } of [connected, replaced]) {
      assert.equal(status, 422, name)
      assert.deepEqual(Object.keys(answer.errors), [field])
    }
  }
})

it('refuses a repeated or unstorable name in a map of a request', async test => {
  const service = await startTestService(test)
  const { owner, one } = await openDestination(service)
  const send = (rawBody: string) => owner.client.call('PATCH', `${one}/routing`, { rawBody })
  const repeated = await send(REPEATED)
  assert.equal(repeated.status, 400)
  assert.match(repeated.body.message, /names a member twice/)
  const surrogate = await send(LONE_SURROGATE)
  assert.equal(surrogate.status, 422)
  assert.deepEqual(Object.keys(surrogate.body.errors), ['event_names.*'])
})

it('registers an agent without the members that it does not know (RFC 7591, 2)', async test => {
  const service = await startTestService(test)
  for (const name of NAMES) {
    const rawBody = `{"client_name":"Agent","redirect_uris":["http://127.0.0.1/cb"],"${name}":{}}`
    const { status, body } = await service.request('POST', '/oauth/register', {
      secret: null,
      rawBody,
    })
    assert.equal(status, 201, name)
    assert.ok(!Object.hasOwn(body, name))
  }
})

it('reads the files and options of the server command by the rules of requests', async test => {
  const { home, dataFolder } = createDataFolder(test)
  const { connectionString } = await createTestDatabase(test)
  const environment = { DATABASE_URL: connectionString, SIGNALBOX_DATA_DIR: dataFolder }
  const run = (...argumentList: string[]) => runCommand(argumentList, { environment })
  const file = (name: string, text: string) => {
    writeFileSync(join(home, name), text)
    return join(home, name)
  }
  const provision = (routing: string, out: string) =>
    run('provision', '--without-owner', '--out', join(home, out), '--routing', routing)
  for (const [text, sentence] of [
    [REPEATED, /bad\.json has an object that names a member twice\./],
    [LONE_SURROGATE, /The event_names\.\* field must be valid Unicode text/],
    ['{"__proto__":{"event_names":{}}}', /The __proto__ field|body field has a member/],
    ['', /bad\.json is empty\./],
  ] as const) {
    const { code, stderr } = await provision(file('bad.json', text), 'bad-out.json')
    assert.deepEqual([code, sentence.test(stderr)], [1, true], `${text}: ${stderr}`)
  }
  const map = `{"event_names":{${NAMES.map(name => `"${name}":"Purchase"`).join(',')}}}`
  assert.equal((await provision(file('good.json', map), 'shop.json')).code, 0)
  const shop = JSON.parse(readFileSync(join(home, 'shop.json'), 'utf8'))
  const shown = await run('routing', 'show', '--destination', shop.destination_id)
  assert.deepEqual(listNames(JSON.parse(shown.stderr)), NAMES.toSorted())
  const tracker = ['--tracker', shop.tracker_id]
  const sets = NAMES.flatMap(name => ['--set', `${name}=advertising`])
  const set = await run('tracker', 'categories', ...tracker, ...sets)
  assert.equal(set.code, 0, set.stderr)
  for (const name of NAMES) assert.match(set.stderr, new RegExp(`^${name} +advertising`, 'm'))
  const target = ['--dataset', '123', '--target', '__proto__=x', '--token-from', '-']
  const connected = await run('destination', 'connect', ...tracker, ...target)
  assert.equal(connected.code, 1)
  assert.match(connected.stderr, /name=value, not __proto__=x\./)
})

it('imports a file with such names, and refuses a line that repeats one', async test => {
  const { folder, run, service } = await startCli(test)
  const fill = ['--name', 'Purchase', '--consent-basis', 'consent', '--json']
  const importText = async (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return JSON.parse(
      (await run(['events', 'create', '--file', join(folder, name), ...fill])).stdout,
    )
  }
  const columns = NAMES.map(name => `value_data.custom_properties.${name}`)
  const csv = `event_id,value,currency,${columns}\ncsv,1,EUR,${NAMES.map(() => 'mark')}\n`
  assert.equal((await importText('good.csv', csv)).stored, 1)
  const line = writeEvent('__proto__', 'line')
  const repeated = line.replace('"color"', '"__proto__":1,"color"')
  const lines = await importText('lines.ndjson', `${line}\n${repeated}\n`)
  assert.deepEqual([lines.stored, lines.refused], [1, 1])
  const cell = 'event_id,value_data.contents\ncell,"[{""id"":1,""id"":2}]"\n'
  assert.equal((await importText('cell.csv', cell)).refused, 1)
  const event = (await service.read('csv')).body.event
  assert.deepEqual(Object.keys(event.value_data.custom_properties).sort(), NAMES.toSorted())
  assert.ok(
    Object.hasOwn((await service.read('line')).body.event.value_data.contents[0], '__proto__'),
  )
  const data = await run(['events', 'create', '--data', '{"event_name":"a","event_name":"b"}'])
  assert.match(data.stderr, /--data has an object that names a member twice/)
})
