import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { it } from 'node:test'
import { sealCredential } from '../../runtime/util/sealed-credential.ts'
import type { Destination } from '../../signals/delivery/destination-store.ts'
import { CREDENTIAL_TABLE_HEADER, formatCredentialRow } from './credential-command.ts'

const ID = '0190bbbb-0000-7000-8000-000000000001'
const TRACKER_ID = '0190aaaa-0000-7000-8000-000000000001'
const KEYS = { current: randomBytes(32), previous: [randomBytes(32)] }

function destination(changes: Partial<Destination> = {}): Destination {
  const at = new Date(0)
  return {
    trackerId: TRACKER_ID,
    id: ID,
    platform: 'meta',
    config: { dataset_id: '1234567890123456' },
    sealedCredential: sealCredential(KEYS, ID, 'a-secret-token'),
    status: 'active',
    statusReason: null,
    testCode: null,
    testModeUntil: null,
    failedProbes: 0,
    nextProbeAt: null,
    platformAdAccountId: null,
    createdAt: at,
    updatedAt: at,
    backoff: null,
    routing: {},
    name: null,
    pausedAt: null,
    ...changes,
  }
}

it('aligns every column with its heading', () => {
  const text = formatCredentialRow(
    KEYS,
    destination({ status: 'inactive', statusReason: 'Refused.' }),
  )
  const below = (heading: string) =>
    text.slice(CREDENTIAL_TABLE_HEADER.indexOf(heading)).split(/\s/)[0]
  assert.deepEqual(['DESTINATION', 'TRACKER', 'TARGET', 'STATUS', 'KEY', 'REASON'].map(below), [
    ID,
    TRACKER_ID,
    '1234567890123456',
    'inactive',
    'current',
    'Refused.',
  ])
})

it('shows which key opens the credential, and never the credential', () => {
  const keyOf = (text: string) => text.split(/\s+/)[4]
  const [previous = KEYS.current] = KEYS.previous
  const rotated = { current: randomBytes(32), previous: [previous, KEYS.current] }
  const text = formatCredentialRow(KEYS, destination())
  assert.equal(keyOf(text), 'current')
  assert.equal(keyOf(formatCredentialRow(rotated, destination())), 'previous')
  assert.equal(keyOf(formatCredentialRow({ ...KEYS, current: previous }, destination())), 'none')
  assert.ok(!text.includes('a-secret-token'))
})

it('strips control characters from the text of the platform, and truncates it', () => {
  const statusReason = `One\r\nTwo\u001b[2J\u202eThree ${'x'.repeat(1_000)}`
  const text = formatCredentialRow(KEYS, destination({ statusReason }))
  assert.match(text, / One Two \[2J Three x+\n$/)
  assert.doesNotMatch(text.trimEnd(), /\p{C}/u)
  assert.ok(text.length < 350)
})
