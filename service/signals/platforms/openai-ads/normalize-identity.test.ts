import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { collectClickIds } from '../../identity/click-ids.ts'
import { openaiAdsPlatform } from './client.ts'

const NOW = new Date('2026-11-21T12:00:00Z')
const offline = openaiAdsPlatform({ baseUrl: 'http://127.0.0.1:9', timeoutMilliseconds: 1 })

const digest = (text: string) => hash('sha256', text)

/** From OpenAI's rules, and neighbors of them. */
const NORMAL_FORMS: [Record<string, unknown>, Record<string, string>][] = [
  [{ em: ' Jane@Example.COM ' }, { em: 'jane@example.com' }],
  [{ em: 'jane.roe+shop@gmail.com' }, { em: 'jane.roe+shop@gmail.com' }],
  [{ ph: '+1 (650) 555-1234' }, { ph: '16505551234' }],
  [{ ph: '0044 20 7946 0958' }, { ph: '442079460958' }],
  [{ ph: '0612345678', country: 'FR' }, { ph: '33612345678' }],
  [{ ph: '+86 138 0013 8000' }, { ph: '8613800138000' }],
  [{ ph: '+1 (650) 555-1234 ext. 89' }, {}],
  [{ external_id: ' Customer 4711-aB ' }, { external_id: 'Customer 4711-aB' }],
  [{ external_id: 'NULL' }, {}],
  [{ external_id: 4711 }, { external_id: '4711' }],
  [
    { fn: ' Ștefan-Ion ', ln: "O'Neil  Smith" },
    { fn: 'ștefanion', ln: 'oneilsmith' },
  ],
  [
    { fn: 'José', ln: 'O’Neil–Roe' },
    { fn: 'josé', ln: 'o’neil–roe' },
  ],
  [{ fn: '...' }, {}],
  [{ ct: 'Berlin', st: 'CA', zp: '94035', country: 'US', db: '19900503', ge: 'f' }, {}],
]

it('normalizes by the written rules of OpenAI', () => {
  for (const [userData, normal] of NORMAL_FORMS) {
    const submitted = { userData, clickIds: {}, eventSource: undefined }
    const identity = offline.normalizeIdentity({ ...submitted, eventTime: NOW, observedAt: NOW })
    const expected = Object.entries(normal).map(([key, text]) => [key, [digest(text)]])
    assert.deepEqual(identity.digests, Object.fromEntries(expected), JSON.stringify(userData))
    assert.deepEqual(identity.plain, {})
  }
})

it("sends a caller's digests of an address, a number and an ID, and not those of names", () => {
  const userData = Object.fromEntries(
    ['em', 'ph', 'external_id', 'fn', 'ln'].map(key => [key, digest(key)]),
  )
  const submitted = { userData, clickIds: {}, eventSource: undefined }
  const { digests, dropped } = offline.normalizeIdentity({
    ...submitted,
    eventTime: NOW,
    observedAt: NOW,
  })
  assert.deepEqual(Object.keys(digests), ['em', 'ph', 'external_id'])
  assert.deepEqual(
    dropped.map(({ field }) => field),
    ['user_data.fn', 'user_data.ln'],
  )
})

it('joins oppref and obref of the event, else those of an earlier visit, and keeps their case', () => {
  const { clickIds } = offline.normalizeIdentity({
    userData: {},
    ...collectClickIds({
      click_ids: { obref: 'Ob-1' },
      event_source: 'https://shop.example/?oppref=Opp_1',
    }),
    eventTime: NOW,
    observedAt: NOW,
  })
  assert.deepEqual(clickIds, { obref: 'Ob-1', oppref: 'Opp_1' })
  const join = (own: Record<string, string>, ...seen: Record<string, string>[]) =>
    offline.joinClickIds({ own, seen, eventTime: NOW })
  assert.deepEqual(join(clickIds, { oppref: 'old' }), { oppref: 'Opp_1', obref: 'Ob-1' })
  assert.deepEqual(join({}, {}, { oppref: 'b' }), { oppref: 'b' })
  assert.deepEqual(join({}), {})
})
