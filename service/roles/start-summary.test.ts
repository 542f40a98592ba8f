import assert from 'node:assert/strict'
import { it } from 'node:test'
import { formatStartSummary, type StartSummary } from './start-summary.ts'

const FACTS: StartSummary = {
  origin: 'http://127.0.0.1:8080',
  store: 'PostgreSQL at DATABASE_URL',
  platform: 'simulator at http://127.0.0.1:8081',
  metricsUrl: 'http://127.0.0.1:8082/metrics',
  credentialsPath: '/srv/credentials.json',
  at: new Date('2026-11-21T12:00:00Z'),
  given: [
    { variable: 'PORT', value: '8080' },
    { variable: 'DATABASE_URL', value: null },
  ],
}

it('the settings that were given are named, secrets only as set', () => {
  const text = formatStartSummary(FACTS)
  assert.ok(text.includes('settings   PORT=8080 DATABASE_URL=(set)\n'))
})

it('without given settings there is no line about them', () => {
  assert.ok(!formatStartSummary({ ...FACTS, given: [] }).includes('settings'))
})

it('the first purchase was consented to before it is sent', () => {
  const text = formatStartSummary(FACTS)
  const [, body = ''] = /-d '(.*)'\n/.exec(text) ?? []
  const { consent } = JSON.parse(body)
  assert.deepEqual(consent, { advertising: 'granted', captured_at: '2026-11-21T12:00:00.000Z' })
})

it('a path is quoted for a shell, with whatever is in it', () => {
  const text = formatStartSummary({ ...FACTS, credentialsPath: "/a b/$HOME/jane's.json" })
  assert.ok(text.includes(`p' '/a b/$HOME/jane'\\''s.json')"`))
})

it('without keys of this store there is no command that would need them', () => {
  const text = formatStartSummary({ ...FACTS, credentialsPath: null })
  assert.ok(text.includes('keys       not here; make a further tracker by "npm run provision'))
  assert.ok(!text.includes('curl'))
})
