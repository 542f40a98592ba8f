import assert from 'node:assert/strict'
import { it } from 'node:test'
import { formatStartSummary, type StartSummary } from './run-all.ts'

const SUMMARY: StartSummary = {
  origin: 'http://127.0.0.1:8080',
  store: 'PostgreSQL at DATABASE_URL',
  platform: 'simulator at http://127.0.0.1:8081',
  metricsUrl: 'http://127.0.0.1:8082/metrics',
  outboxFolder: '/srv/outbox',
  credentialsPath: '/srv/credentials.json',
  at: new Date('2026-11-21T12:00:00Z'),
  given: [
    { variable: 'PORT', value: '8080' },
    { variable: 'DATABASE_URL', value: null },
  ],
}

it('shows the address of the dashboard, where the password is, and where emails go', () => {
  const text = formatStartSummary(SUMMARY)
  assert.match(text, /^Signalbox is ready at http:\/\/127\.0\.0\.1:8080\n/)
  assert.match(text, /^ {2}dashboard {4}http:\/\/127\.0\.0\.1:8080\/$/m)
  assert.match(text, /^ {2}credentials {2}\/srv\/credentials\.json$/m)
  assert.match(
    text,
    /^Open \S+:8080\/ in .* owner_email and owner_password in \/srv\/credentials\.json\.$/m,
  )
  assert.match(text, /^ {2}emails {7}written to \/srv\/outbox$/m)
  const sent = formatStartSummary({ ...SUMMARY, outboxFolder: null })
  assert.match(sent, /^ {2}emails {7}sent by SIGNALBOX_MAIL_URL$/m)
})

it('names the given settings, and of a secret only that it is set', () => {
  const text = formatStartSummary(SUMMARY)
  assert.ok(text.includes('settings     PORT=8080 DATABASE_URL=(set)\n'))
})

it('has no line about settings when none is given', () => {
  assert.ok(!formatStartSummary({ ...SUMMARY, given: [] }).includes('settings '))
})

it('the example purchase has its consent before it is sent', () => {
  const text = formatStartSummary(SUMMARY)
  const [, body = ''] = /-d '(.*)'\n/.exec(text) ?? []
  const { consent } = JSON.parse(body)
  assert.deepEqual(consent, { advertising: 'granted', captured_at: '2026-11-21T12:00:00.000Z' })
})

it('quotes a path for a shell', () => {
  const text = formatStartSummary({ ...SUMMARY, credentialsPath: "/a b/$HOME/jane's.json" })
  assert.ok(text.includes(`p' '/a b/$HOME/jane'\\''s.json')"`))
})

it('prints no example requests without a credentials file', () => {
  const text = formatStartSummary({ ...SUMMARY, credentialsPath: null })
  assert.ok(text.includes('credentials  none here; "signalbox-server provision'))
  assert.ok(!text.includes('curl'))
})
