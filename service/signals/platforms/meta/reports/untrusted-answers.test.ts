import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { it, type TestContext } from 'node:test'
import type { Platform, Unavailable } from '../../platform.ts'
import { metaPlatform } from '../client.ts'

const CONNECTION = { target: { datasetId: '1234' }, accessToken: 'token-of-the-test' }
const NOW = new Date('2026-11-21T12:00:00.000Z')
const DAY = { from: new Date('2026-11-20T00:00:00Z'), until: new Date('2026-11-21T00:00:00Z') }
const MEGABYTE = 1_024 * 1_024

type Answerer = (request: IncomingMessage, response: ServerResponse, url: string) => void

/** A platform with the given responses, and the requests that it received. */
async function listening(test: TestContext, answer: Answerer, timeoutMilliseconds = 30_000) {
  const asked: { url: string; authorization: string | undefined }[] = []
  const server = createServer((request, response) => {
    asked.push({ url: request.url ?? '', authorization: request.headers.authorization })
    answer(request, response, baseUrl)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  test.after(() => {
    server.closeAllConnections()
    return new Promise(resolve => server.close(resolve))
  })
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const options = { baseUrl, version: 'v26.0', timeoutMilliseconds, now: () => NOW }
  return { asked, baseUrl, platform: metaPlatform(options) }
}

function answering(body: unknown, status = 200): Answerer {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return (_, response) => void response.writeHead(status).end(text)
}

/** Both reads must treat an invalid response the same way. */
async function causesOf(platform: Platform): Promise<Unavailable['cause'][]> {
  const answers = [
    await platform.readDayCounts(CONNECTION, DAY, 'server'),
    await platform.readMatchQuality(CONNECTION),
  ]
  return answers.map(answer => {
    assert.ok(answer.kind === 'unavailable', JSON.stringify(answer).slice(0, 200))
    assert.doesNotMatch(answer.sentence, /token-of-the-test|1234/)
    return answer.cause
  })
}

const USELESS: Record<string, [cause: Unavailable['cause'], status: number, body: unknown]> = {
  'an HTML page with 200': ['unreadable', 200, '<html>Sorry</html>'],
  'an HTML page with 502': ['out_of_reach', 502, '<html>Sorry</html>'],
  'an HTML page with 429': ['throttled', 429, '<html>Sorry</html>'],
  'an HTML page with 404': ['unreadable', 404, '<html>Sorry</html>'],
  'an empty body': ['unreadable', 200, ''],
  'truncated JSON': ['unreadable', 200, '{"data":[{"start_time":"2026-11-20T00:0'],
  'an array': ['unreadable', 200, []],
  'an empty object': ['unreadable', 200, {}],
  'a response in the form of our own results': [
    'unreadable',
    200,
    { kind: 'unavailable', cause: 'permission', sentence: 'token-of-the-test', waitSeconds: 1 },
  ],
  'an error without a code': ['out_of_reach', 400, { error: { message: 'token-of-the-test' } }],
  'an error with an unknown code': ['out_of_reach', 400, { error: { code: 999_999 } }],
  'an error with 200': ['permission', 200, { error: { code: 100 }, data: [], web: [] }],
  'no array of rows': ['unreadable', 200, { data: {}, web: {} }],
}

for (const [what, [cause, status, body]] of Object.entries(USELESS)) {
  it(`${what} is ${cause}`, async test => {
    const { platform } = await listening(test, answering(body, status))
    assert.deepEqual(await causesOf(platform), [cause, cause])
  })
}

it('sends the token only in the header, and names the requested fields', async test => {
  const { platform, asked } = await listening(test, answering({}))
  await causesOf(platform)
  for (const { url, authorization } of asked) {
    assert.doesNotMatch(url, /token-of-the-test/)
    assert.equal(authorization, 'Bearer token-of-the-test')
  }
  assert.deepEqual(
    asked.map(({ url }) => url.split('&fields=')[0]),
    [
      '/v26.0/1234/stats?aggregation=event&event_source=SERVER_ONLY' +
        '&start_time=1795132800&end_time=1795219200',
      '/v26.0/dataset_quality?dataset_id=1234',
    ],
  )
})

it('follows no redirect, and does not send the token elsewhere', async test => {
  const other = await listening(test, answering({}))
  const { platform, asked } = await listening(test, (_, response) => {
    response.writeHead(302, { location: `${other.baseUrl}/v26.0/1234/stats` }).end()
  })
  assert.deepEqual(await causesOf(platform), ['unreadable', 'unreadable'])
  assert.deepEqual([asked.length, other.asked.length], [2, 0])
})

it('follows no page to another host, port, path or user', async test => {
  const other = await listening(test, answering({ data: [] }))
  const wrongs = [
    `${other.baseUrl}/v26.0/1234/stats?after=a`,
    'http://USER@HOST/v26.0/1234/stats?after=a',
    'http://HOST/v26.0/5678/stats?after=a',
    'https://HOST/v26.0/1234/stats?after=a',
    '/v26.0/1234/stats?after=a',
    'file:///etc/passwd',
    7,
  ]
  for (const wrong of wrongs) {
    const { platform, asked } = await listening(test, (_, response, url) => {
      const next = typeof wrong === 'string' ? wrong.replace('HOST', new URL(url).host) : wrong
      response.end(JSON.stringify({ data: [], paging: { next } }))
    })
    const answer = await platform.readDayCounts(CONNECTION, DAY, 'server')
    assert.equal(answer.kind === 'unavailable' && answer.cause, 'unreadable', String(wrong))
    assert.equal(asked.length, 1)
  }
  assert.equal(other.asked.length, 0)
})

it('removes the token from the URL of the next page, where Meta puts it', async test => {
  const { platform, asked } = await listening(test, (request, response, url) => {
    const next = `${url}/v26.0/1234/stats?access_token=token-of-the-test&after=a`
    const paging = request.url?.includes('after=a') ? {} : { next }
    response.end(JSON.stringify({ data: [], paging }))
  })
  assert.equal((await platform.readDayCounts(CONNECTION, DAY, 'server')).kind, 'counts')
  assert.equal(asked[1]?.url, '/v26.0/1234/stats?after=a')
})

it('gives up on endless pages', async test => {
  let page = 0
  const { platform, asked } = await listening(test, (_, response, url) => {
    const next = `${url}/v26.0/1234/stats?after=${++page}`
    response.end(JSON.stringify({ data: [], paging: { next } }))
  })
  const answer = await platform.readDayCounts(CONNECTION, DAY, 'server')
  assert.equal(answer.kind === 'unavailable' && answer.cause, 'unreadable')
  assert.equal(asked.length, 50)
})

it('reads a response of seven megabytes, but not an endless one', async test => {
  const padding = 'x'.repeat(7 * MEGABYTE)
  const large = await listening(test, answering({ data: [], web: [], padding }))
  assert.equal((await large.platform.readDayCounts(CONNECTION, DAY, 'server')).kind, 'counts')
  assert.equal((await large.platform.readMatchQuality(CONNECTION)).kind, 'quality')
  const chunk = Buffer.alloc(MEGABYTE, ' ')
  const endless = await listening(test, (_, response) => {
    const write = () => {
      while (!response.destroyed && response.write(chunk));
      response.once('drain', write)
    }
    response.writeHead(200).write('{"data":[],"web":[]}')
    write()
  })
  assert.deepEqual(await causesOf(endless.platform), ['unreadable', 'unreadable'])
})

it('limits the time to wait for a response and for its body', async test => {
  const silent = await listening(test, () => {}, 100)
  const stopping = await listening(
    test,
    (_, response) => void response.writeHead(200).write('{"data":['),
    100,
  )
  for (const { platform } of [silent, stopping]) {
    const answer = await platform.readDayCounts(CONNECTION, DAY, 'server')
    assert.ok(answer.kind === 'unavailable')
    assert.equal(answer.cause, 'out_of_reach')
    assert.equal(answer.sentence, 'The platform did not answer in time.')
  }
})
