import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { Signalbox } from '@signalbox/sdk'
import { startTestService } from '../../testing/fixtures/service.ts'
import { listGoogleReceipts } from '../../testing/fixtures/simulator.ts'
import { connectSimulated } from '../../testing/fixtures/two-platforms.ts'
import { COLUMNS, readLeads } from './read-leads.ts'
import { describeLeads, sendLeads } from './send-leads.ts'

const FILE = readFileSync(join(import.meta.dirname, 'leads.csv'), 'utf8')
const HEADER = COLUMNS.join()
const CRM = { source: 'Dynamics' }

/** A service that sends to Meta, and the converted leads to Google Ads, too. */
async function startCrm(test: TestContext) {
  const service = await startTestService(test)
  const { tracker } = service
  await connectSimulated(service, 'google_ads', {
    routing: { event_names: { Converted: '456' } },
  })
  const baseUrl = `${service.url}/api/v1`
  return { service, signalbox: new Signalbox({ token: tracker.trackerSecret, baseUrl }) }
}

it('sends each stage to Meta, and the converted leads to Google, once', async test => {
  const { service, signalbox } = await startCrm(test)
  const first = await sendLeads(signalbox, FILE, CRM)
  assert.deepEqual(first, { sent: 4, earlier: 0, problems: [], untried: 0 })
  await service.deliver()
  const again = await sendLeads(signalbox, FILE, CRM)
  assert.deepEqual(again, { sent: 0, earlier: 4, problems: [], untried: 0 })
  await service.deliver()

  const { events } = (await service.received()) as { events: Record<string, unknown>[] }
  const stages = events.filter(({ user_data }) => 'lead_id' in (user_data as object))
  assert.equal(events.length, 4)
  assert.deepEqual(stages.map(({ event_name }) => event_name).sort(), [
    ...['Converted', 'Lead', 'Qualified'],
  ])
  const converted = stages.find(({ event_name }) => event_name === 'Converted')
  const stored = (await service.read(String(converted?.event_id))).body.event
  assert.equal(stored.action_source, 'system_generated')
  assert.deepEqual(converted?.user_data, {
    em: [hash('sha256', 'ada@example.com')],
    lead_id: '525645896321548',
  })
  assert.deepEqual(converted?.custom_data, {
    event_source: 'crm',
    lead_event_source: 'Dynamics',
    value: 1200.5,
    currency: 'EUR',
  })

  const atGoogle = await listGoogleReceipts(service.simulatorUrl)
  assert.deepEqual(
    atGoogle.map(({ event }) => [event.conversionValue, event.adIdentifiers?.gclid]).sort(),
    [
      [1200.5, undefined],
      [90, 'Cj0KCQ-click_of_1002'],
    ],
  )
})

it('names the line and the column of what is wrong, and sends the other rows', async test => {
  const { signalbox } = await startCrm(test)
  const lines = [
    HEADER,
    '1,525645896321548,,,Lead,2026-11-20T09:00:00Z,,,granted,',
    '2,525645896321548,,,Lead,yesterday,12,,granted,',
    '3,,,,Lead,2026-11-20T09:00:00Z,,,denied,',
    '1,525645896321548,,,Lead,2026-11-20T09:30:00Z,,,granted,',
    '4,,,ada@example.com,"Won, ""big""',
    'deal",2026-11-20T09:00:00Z,10,EUR,granted,',
    '5,,,ada@example.com,Lead,2026-11-20T09:00:00Z',
    '6,,,ada@example.com,Lead,2027-11-20T09:00:00Z,10,XQX,granted,',
    '7,1,short,ada,Lead,2026-13-20T09:00:00Z,1e3,EUR,granted,',
  ]
  const result = await sendLeads(signalbox, lines.join('\r\n'), CRM)
  const places = result.problems.map(({ line, column }) => [line, column])
  assert.deepEqual(places, [
    ...[
      [3, 'time'],
      [3, 'currency'],
      [4, 'consent'],
      [4, 'lead_id'],
      [5, 'stage'],
      [6, 'stage'],
    ],
    ...[
      [8, null],
      [9, 'currency'],
      [9, 'time'],
    ],
    ...[
      [10, 'lead_id'],
      [10, 'gclid'],
      [10, 'email'],
      [10, 'value'],
      [10, 'time'],
    ],
  ])
  assert.equal(result.sent, 1)
  const text = describeLeads(result).join('\n')
  assert.match(text, /^line 3, column "time": Write an ISO 8601 time/)
  assert.doesNotMatch(text, /yesterday|ada@example|short/)
})

it('runs as a program, and says which rows differ from what is stored', async test => {
  const { service, signalbox } = await startCrm(test)
  await sendLeads(signalbox, FILE.replace('1200.50', '1100.00'), CRM)
  const path = join(import.meta.dirname, 'leads.csv')
  const environment = {
    SIGNALBOX_TOKEN: service.tracker.trackerSecret,
    SIGNALBOX_BASE_URL: `${service.url}/api/v1`,
  }
  const program = [join(import.meta.dirname, 'main.ts'), path, 'Dynamics']
  const env = { ...process.env, ...environment }
  const { code, stdout } = await promisify(execFile)(process.execPath, program, { env }).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: { code: number; stdout: string }) => error,
  )
  assert.equal(code, 1)
  assert.match(stdout, /^line 4: .*differs/)
  assert.match(stdout, /\n0 sent, 4 sent by an earlier run, 1 problems\.\n$/)
})

it('stops where every other row would fail, and says how many are left', async test => {
  const { service } = await startCrm(test)
  const signalbox = new Signalbox({ token: 'sbx_sk_wrong', baseUrl: `${service.url}/api/v1` })
  const result = await sendLeads(signalbox, FILE, CRM)
  assert.deepEqual([result.sent, result.problems.length, result.untried], [0, 1, 3])
  assert.match(describeLeads(result).at(-1) ?? '', /^3 rows were not tried/)
})

describe('readLeads', () => {
  it('refuses a header with unknown, double and missing columns', () => {
    const { problems } = readLeads('crm_id,crm_id,phone\n1,1,1\n', CRM)
    assert.ok(problems.some(({ message }) => message === 'The column "stage" is missing.'))
    assert.ok(problems.some(({ message }) => message.startsWith('1 columns are not known')))
    assert.ok(problems.some(({ message }) => message === 'Two columns have one name.'))
    assert.ok(readLeads('', CRM).problems.length > 0)
  })

  it('reports a quote that is not closed, and keeps the rows before it', () => {
    const row = '1,525645896321548,,,Lead,2026-11-20T09:00:00Z,,,granted,'
    const { stages, problems } = readLeads(`\uFEFF${HEADER}\n${row}\n2,"x\n${row}\n`, CRM)
    assert.deepEqual([stages.map(({ line }) => line), problems[0]?.line], [[2], 3])
  })

  it('gives a stage of a lead the same ID when other columns of its row change', () => {
    const id = (row: string) => readLeads(`${HEADER}\n${row}`, CRM).stages[0]?.event.event_id
    const first = id('1,525645896321548,,,Lead,2026-11-20T09:00:00Z,,,granted,')
    assert.equal(id('1,,,a@b.example,Lead,2026-11-21T09:00:00Z,5,EUR,granted,'), first)
    assert.notEqual(id('1,,,a@b.example,Won,2026-11-21T09:00:00Z,5,EUR,granted,'), first)
    assert.notEqual(id('2,,,a@b.example,Lead,2026-11-21T09:00:00Z,5,EUR,granted,'), first)
  })
})
