import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { collectClickIds } from '../../identity/click-ids.ts'
import { snapchatPlatform } from './client.ts'

const NOW = new Date('2026-11-21T12:00:00Z')
const offline = snapchatPlatform({
  baseUrl: 'http://127.0.0.1:9',
  valueType: 'number',
  timeoutMilliseconds: 1,
})

const digest = (text: string) => hash('sha256', text)

/** From the page of Snap's parameters, and neighbors of its examples. */
const NORMAL_FORMS: [Record<string, unknown>, Record<string, string>][] = [
  [{ em: ' Person@Example.com ' }, { em: 'person@example.com' }],
  [{ em: 'jane.roe+shop@gmail.com' }, { em: 'jane.roe+shop@gmail.com' }],
  [{ ph: '+44 844 412 4653' }, { ph: '448444124653' }],
  [{ ph: '0044 844 412-4653' }, { ph: '448444124653' }],
  [
    { ph: '(0844) 412 4653', country: 'GB' },
    { ph: '448444124653', country: 'gb' },
  ],
  [{ ph: '+86 138 0013 8000' }, { ph: '8613800138000' }],
  [{ fn: 'John' }, { fn: 'john' }],
  [
    { fn: 'Raphaël', ln: "O'Neil-Smith" },
    { fn: 'raphaël', ln: 'oneilsmith' },
  ],
  [
    { ct: 'San  Francisco!', st: 'California', country: 'US' },
    { ct: 'sanfrancisco', st: 'ca', country: 'us' },
  ],
  [
    { zp: '94035-1234', country: 'us' },
    { zp: '94035', country: 'us' },
  ],
  [
    { zp: 'K1A 0B1', ge: 'Female' },
    { zp: 'k1a0b1', ge: 'f' },
  ],
  [{ external_id: 'Customer 4711' }, { external_id: 'customer4711' }],
  [{ db: '1990-05-03', madid: '38400000-8cf0-11bd-b23e-10b96e40000d' }, {}],
]

it('normalizes by the written rules of Snap', () => {
  for (const [userData, normal] of NORMAL_FORMS) {
    const submitted = { userData, clickIds: {}, eventSource: undefined }
    const identity = offline.normalizeIdentity({ ...submitted, eventTime: NOW, observedAt: NOW })
    const expected = Object.entries(normal).map(([key, text]) => [key, [digest(text)]])
    assert.deepEqual(identity.digests, Object.fromEntries(expected), JSON.stringify(userData))
    assert.deepEqual(identity.plain, {})
  }
  assert.equal(
    digest('448444124653'),
    'dc008fda46e2e64002cf2f82a4906236282d431c4f75e5b60bfe79fc48546383',
  )
})

it('joins the click and the browser of the event, else those of an earlier visit', () => {
  const collect = (eventSource: string) =>
    offline.normalizeIdentity({
      userData: {},
      ...collectClickIds({ click_ids: { scid: 'c-1' }, event_source: eventSource }),
      eventTime: NOW,
      observedAt: NOW,
    }).clickIds
  const own = collect('https://shop.example/?sccid=A3f4-B5c6')
  assert.deepEqual(own, { ScCid: 'A3f4-B5c6', scid: 'c-1' })
  const join = (own: Record<string, string>, ...seen: Record<string, string>[]) =>
    offline.joinClickIds({ own, seen, eventTime: NOW })
  assert.deepEqual(join(own, { ScCid: 'old' }), { sc_click_id: 'A3f4-B5c6', sc_cookie1: 'c-1' })
  assert.deepEqual(join({ scid: 'c-1' }, {}, { ScCid: 'b', scid: 'c-2' }), {
    sc_click_id: 'b',
    sc_cookie1: 'c-1',
  })
  assert.deepEqual(join({}), {})
})
