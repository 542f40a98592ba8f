import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startSandboxFixture } from '../../../testing/fixtures/sandbox.ts'

const END = 'Nothing was stored or sent.'
const DELIVERED = "Production would store it and deliver it to the tracker's destinations."
const STORED_ONLY = 'Production would store it but not deliver it.'

async function messenger(test: TestContext) {
  const sandbox = await startSandboxFixture(test)
  return async (changes: Record<string, unknown>): Promise<string> => {
    const { status, text, body } = await sandbox.validate(samplePurchase(changes))
    assert.equal(status, 200, text)
    return body.message
  }
}

it('reports that a complete purchase is delivered', async test => {
  const messageOf = await messenger(test)
  assert.equal(await messageOf({}), `Valid. ${DELIVERED} 1 identifier would be hashed. ${END}`)
  const user_data = { em: ['a@b.example', 'c@d.example'], external_id: '7' }
  assert.match(await messageOf({ user_data }), / 3 identifiers would be hashed\. /)
})

it('reports that consent_basis was assumed', async test => {
  const messageOf = await messenger(test)
  assert.equal(
    await messageOf({ consent_basis: undefined }),
    'Valid, assuming consent_basis "consent": production rejects an event without it. ' +
      `${DELIVERED} 1 identifier would be hashed. ${END}`,
  )
})

it('reports why an event is not delivered', async test => {
  const messageOf = await messenger(test)
  const unreadable = { consent: { ad_user_data: 'perhaps' }, tcf: { string: 'garbage' } }
  assert.equal(
    await messageOf(unreadable),
    'Valid. Production would store it but not deliver it: none of its consent signals ' +
      '(consent.ad_user_data, tcf.string) can be read as granted. ' +
      '1 identifier would be hashed. ' +
      'Dropped: consent.ad_user_data (not stored with the consent), ' +
      `tcf.string (not stored with the consent). Warning: ${MISSING_TIME} ${END}`,
  )
  const lifecycle = { user_data: undefined, value_data: undefined }
  const event_name = 'consent_withdrawal'
  assert.equal(await messageOf({ ...lifecycle, event_name }), `Valid. ${STORED_ONLY} ${END}`)
  const verification = { consent_basis: 'legitimate_interest', event_name: 'signal_verification' }
  assert.equal(await messageOf({ ...lifecycle, ...verification }), `Valid. ${STORED_ONLY} ${END}`)
})

const MISSING_TIME =
  'consent.captured_at is missing: say when consent was captured, since the event carries identity.'

it('reports user data that is too weak to match, until it is sufficient', async test => {
  const messageOf = await messenger(test)
  const tooWeak = / but a platform would reject it: its user_data is too weak to match /
  for (const user_data of [undefined, {}, { client_user_agent: 'x' }, { country: 'de' }]) {
    assert.match(await messageOf({ user_data }), tooWeak)
  }
  const clicks = { click_ids: { fbclid: 'IwAR0abcdefghijklmnopqrstuvwxyz' } }
  for (const sufficient of [{ user_data: { ph: '+49 30 901820' } }, clicks]) {
    assert.doesNotMatch(await messageOf(sufficient), tooWeak)
  }
})

it('reports that an old event may expire', async test => {
  const messageOf = await messenger(test)
  const old = await messageOf({ event_time: '2026-11-13T11:00:00Z' })
  const message =
    'Its event_time is 8 days old: if a platform does not accept events of that age, the ' +
    'delivery expires.'
  assert.ok(old.includes(message), old)
  assert.match(await messageOf({ event_time: '2026-11-20T12:00:00Z' }), / is 1 day old: /)
  assert.doesNotMatch(await messageOf({ event_time: '2026-11-20T12:00:01Z' }), / old: /)
})

it('names dropped fields with reasons, and ignored members', async test => {
  const messageOf = await messenger(test)
  const user_data = { em: 'jane@example.com', ph: '123', color: 'red' }
  const message = await messageOf({ user_data, utm_campaign: 'spring' })
  const dropped =
    'Dropped: user_data.color (This field is not known here, so it was not stored), ' +
    'user_data.ph (This is not a whole phone number. Send it with + and its country code, or add ' +
    'a country). Ignored: utm_campaign.'
  assert.ok(message.includes(dropped), message)
  const em = Array.from({ length: 9 }, () => 'nobody')
  assert.match(await messageOf({ user_data: { em } }), /user_data\.em\[4\] \([^)]+\) and 4 more\./)
})

it('names members with identifiers in free text, which no platform gets', async test => {
  const messageOf = await messenger(test)
  const value_data = { value: '1', currency: 'EUR', order_id: 'jane@mail.example' }
  assert.match(
    await messageOf({ value_data }),
    /Identifiers replaced by tokens, which no platform gets, in: value_data\.order_id\./,
  )
})

it('never repeats an identifier, in any member or name', async test => {
  const messageOf = await messenger(test)
  const raw = 'jane.doe@example.com'
  const hostile = {
    visitor_id: 'undefined',
    value_data: { order_id: raw, contents: [{ title: raw, [raw]: raw }], [raw]: raw },
    app_data: { vendor_id: raw, [raw]: raw },
    referrer_url: raw,
    event_source: `https://shop.example/${raw}?email=${raw}&${raw}=1#${raw}`,
    user_data: { em: `${raw} or so`, ph: raw, [raw]: 1, fn: raw },
    click_ids: { fbclid: raw, [raw]: raw },
    consent: { ad_user_data: 'granted', note: raw, [raw]: raw },
    consent_mode: { ad_user_data: raw, [raw]: raw },
    tcf: { string: raw },
    [raw]: raw,
  }
  const one = Object.entries(hostile).map(([name, value]) => ({ [name]: value }))
  for (const changes of [hostile, ...one]) {
    assert.doesNotMatch(await messageOf(changes), /jane|\bdoe\b|example\.com/)
  }
  assert.match(await messageOf(hostile), /Dropped: .+ and \d+ more\./)
})
