import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { startOtlpReceiver } from '../../../testing/fixtures/otlp-receiver.ts'
import { createInstallation } from '../../../testing/fixtures/program.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { findProgram, installPinnedPython, openToolchain } from '../../../testing/toolchains.ts'
import {
  createMetricsRegistry,
  createTracedHistogram,
  renderMetricsOfThreads,
  takeMetricsSnapshot,
} from './metrics-registry.ts'

/** As Prometheus 3 asks for it with exemplar storage. */
const ACCEPT =
  'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,' +
  'application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2'
const FOLDER = join(import.meta.dirname, '../../../testing/open-metrics')
const HISTOGRAM = 'signalbox_platform_request_duration_seconds'
const EVENT_ID = 'order-of-jane-9917'

interface Family {
  name: string
  type: string
  samples: {
    name: string
    labels: Record<string, string>
    /** Null for NaN. */
    value: number | null
    exemplar: { labels: Record<string, string>; value: number } | null
  }[]
}

/** By Prometheus' Python library; null where Python is missing, and the test is skipped. */
function parserUnderTest(test: TestContext): ((page: string) => Family[]) | null {
  const python = openToolchain(test, 'python', () =>
    installPinnedPython(findProgram('python'), join(FOLDER, 'requirements.txt')),
  )
  if (python === null) return null
  return page => {
    const { status, stdout, stderr } = spawnSync(python, [join(FOLDER, 'parse_page.py')], {
      input: page,
      encoding: 'utf8',
    })
    assert.equal(status, 0, stderr)
    return JSON.parse(stdout)
  }
}

it('leads from each histogram of acceptance and delivery to a trace', async test => {
  const parse = parserUnderTest(test)
  if (parse === null) return
  const receiver = await startOtlpReceiver(test)
  const place = createInstallation(test)
  const program = await place.startReady({
    environment: { SIGNALBOX_HTTP_WORKERS: '2', OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url },
  })
  const { base_url, tracker_secret } = place.credentials()
  const response = await fetch(`${base_url}/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tracker_secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(samplePurchase({ event_id: EVENT_ID })),
  })
  assert.equal(response.status, 202)
  await waitUntil('the delivery is exported', () =>
    receiver.spans.some(({ name }) => name === 'deliver'),
  )
  const url = /^ {2}metrics {6}(\S+)$/m.exec(program.stderr())?.[1] ?? ''
  const scrape = async (accept: string) => {
    const page = await fetch(url, { headers: { accept } })
    return { type: page.headers.get('content-type'), text: await page.text() }
  }
  const { type, text } = await scrape(ACCEPT)
  assert.equal(type, 'application/openmetrics-text; version=1.0.0; charset=utf-8')
  const families = parse(text)
  const found = families.flatMap(({ name, samples }) =>
    samples.flatMap(({ exemplar }) => (exemplar ? [{ name, labels: exemplar.labels }] : [])),
  )
  const expected = {
    signalbox_http_request_duration_seconds: 'POST /api/v1/events',
    signalbox_commit_duration_seconds: 'commit batch',
    signalbox_platform_request_duration_seconds: 'deliver batch',
    signalbox_delivery_settle_duration_seconds: 'deliver batch',
  }
  await waitUntil('the traces of all exemplars are exported', () =>
    found.every(({ labels }) => receiver.spans.some(({ traceId }) => traceId === labels.trace_id)),
  )
  for (const [name, span] of Object.entries(expected)) {
    const own = found.filter(one => one.name === name)
    assert.ok(
      own.some(({ labels }) =>
        receiver.spans.some(each => each.name === span && each.traceId === labels.trace_id),
      ),
      `${name}: ${JSON.stringify(own)}`,
    )
  }
  // Nothing but the ID of a trace.
  for (const { name, labels } of found) {
    assert.ok(name in expected, name)
    assert.deepEqual(Object.keys(labels), ['trace_id'])
  }
  for (const secret of [EVENT_ID, tracker_secret]) assert.ok(!text.includes(secret))

  // The other format is as before, also after the library has rendered this one.
  const plain = await scrape('text/plain')
  assert.match(plain.type ?? '', /^text\/plain; version=0\.0\.4/)
  assert.match(plain.text, /^signalbox_events_total\{result="accepted"\} \d+$/m)
  assert.doesNotMatch(plain.text, /trace_id|# EOF/)
  const names = new Set(families.flatMap(({ samples }) => samples.map(sample => sample.name)))
  const inPlain = plain.text.matchAll(/^(\w+)(?:\{.*)? \S+$/gm)
  assert.deepEqual(
    [...inPlain].map(([, name = '']) => name).filter(name => !names.has(name)),
    [],
  )
})

it('keeps the last exemplar of several threads, and none without a trace', async test => {
  const parse = parserUnderTest(test)
  if (parse === null) return
  const threads = [createMetricsRegistry(), createMetricsRegistry()] as const
  const [first, second] = threads.map(registry =>
    createTracedHistogram(registry, HISTOGRAM, [0.1, 1]),
  ) as [ReturnType<typeof createTracedHistogram>, ReturnType<typeof createTracedHistogram>]
  const exemplars = async () => {
    const others = [await takeMetricsSnapshot(threads[1])]
    const { text } = await renderMetricsOfThreads(threads[0], others, 'openmetrics')
    const family = parse(text).find(({ name }) => name === HISTOGRAM)
    return family?.samples.map(({ labels, value, exemplar }) => [
      labels.le,
      value,
      exemplar?.labels.trace_id,
    ])
  }
  first(0.05, null)
  second(0.5, null)
  const counted = (of: Record<string, string | undefined>, values: number[]) => [
    ['0.1', values[0], of['0.1']],
    ['1', values[1], of['1']],
    ['+Inf', values[1], undefined],
  ]
  assert.deepEqual((await exemplars())?.slice(0, 3), counted({}, [1, 2]))
  first(0.05, 'a'.repeat(32))
  second(0.5, 'b'.repeat(32))
  const both = { '0.1': 'a'.repeat(32), '1': 'b'.repeat(32) }
  assert.deepEqual((await exemplars())?.slice(0, 3), counted(both, [2, 4]))
})
