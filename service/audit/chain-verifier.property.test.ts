import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { it } from 'node:test'
import fc from 'fast-check'
import { forgeBody, sampleEntry } from '../../testing/fixtures/audit.ts'
import { buildChainedEntry, type ChainLink, GENESIS_LINK } from './audit-entry.ts'
import type { StoredEntry } from './audit-read-store.ts'
import { ChainVerifier, type TrustedEntry } from './chain-verifier.ts'

const WORKSPACE = 3

type Tampering = (log: StoredEntry[], index: number) => void

const TAMPERINGS: Record<string, Tampering> = {
  'changed text': (log, index) => replace(log, index, { body: changeLetter(bodyAt(log, index)) }),
  'changed hash': (log, index) => replace(log, index, { hash: randomBytes(32) }),
  'changed text and hash': (log, index) =>
    replace(log, index, forgeBody(bodyAt(log, index), { details: { count: -1 } })),
  'changed previous hash and hash': (log, index) =>
    replace(log, index, forgeBody(bodyAt(log, index), { previous_hash: 'b'.repeat(64) })),
  'changed workspace and hash': (log, index) =>
    replace(log, index, forgeBody(bodyAt(log, index), { workspace_id: 4 })),
  'changed sequence and hash': (log, index) =>
    replace(log, index, forgeBody(bodyAt(log, index), { sequence: 5_000 })),
  'changed columns': (log, index) =>
    replace(log, index, { columns: { action: 'policy.changed', subjectType: '', subjectId: '' } }),
  'invalid JSON': (log, index) => replace(log, index, { body: '{' }),
  'deleted entry': (log, index) => void log.splice(index, 1),
  'deleted entry and successors': (log, index) => void log.splice(index),
}

const length = fc.integer({ min: 1, max: 30 })
const relativePosition = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

for (const [name, tamper] of Object.entries(TAMPERINGS)) {
  it(`finds the tampered entry at any position: ${name}`, () => {
    const property = fc.property(length, relativePosition, (count, position) => {
      const log = buildLog(count)
      const end = endOfLog(log)
      const index = Math.floor(position * count)
      tamper(log, index)
      assert.equal(findProblem(log, end)?.sequence, index + 1)
    })
    fc.assert(property)
  })
}

it('finds two swapped entries at the first of them', () => {
  const property = fc.property(
    length,
    relativePosition,
    relativePosition,
    (count, position, otherPosition) => {
      const log = buildLog(count)
      const end = endOfLog(log)
      const [one, other] = [Math.floor(position * count), Math.floor(otherPosition * count)]
      const [first, second] = [log[one] as StoredEntry, log[other] as StoredEntry]
      log[one] = { ...second, sequence: first.sequence }
      log[other] = { ...first, sequence: second.sequence }
      assert.equal(
        findProblem(log, end)?.sequence ?? null,
        one === other ? null : Math.min(one, other) + 1,
      )
    },
  )
  fc.assert(property)
})

it('finds a truncated tail only with a trusted entry beyond the cut', () => {
  const property = fc.property(
    length,
    relativePosition,
    relativePosition,
    (count, position, otherPosition) => {
      const log = buildLog(count)
      const kept = Math.floor(position * count)
      const trusted = log[Math.floor(otherPosition * count)] as StoredEntry
      const cut = log.slice(0, kept)
      const finding = findProblem(cut, endOfLog(cut), [{ ...trusted, source: 'a backup' }])
      assert.equal(finding?.sequence ?? null, trusted.sequence > kept ? kept + 1 : null)
    },
  )
  fc.assert(property)
})

it('finds nothing in an unchanged log', () => {
  fc.assert(
    fc.property(length, count => {
      const log = buildLog(count)
      assert.equal(findProblem(log, endOfLog(log)), null)
    }),
  )
})

function buildLog(count: number): StoredEntry[] {
  const log: StoredEntry[] = []
  let previous: ChainLink = GENESIS_LINK
  for (let index = 1; index <= count; index += 1) {
    const entry = sampleEntry(WORKSPACE, index)
    const { type: subjectType, id: subjectId } = entry.subject
    const chained = buildChainedEntry(entry, previous)
    log.push({ ...chained, columns: { action: entry.action, subjectType, subjectId } })
    previous = chained
  }
  return log
}

function endOfLog(log: readonly StoredEntry[]): ChainLink {
  const { sequence, hash } = log.at(-1) ?? GENESIS_LINK
  return { sequence, hash }
}

function findProblem(log: readonly StoredEntry[], end: ChainLink, trusted: TrustedEntry[] = []) {
  const head = { workspaceId: WORKSPACE, ...end, signature: Buffer.alloc(32) }
  const isSigned = end.sequence > 0
  const verifier = new ChainVerifier({
    workspaceId: WORKSPACE,
    head: isSigned ? head : null,
    isSigned,
    trusted,
  })
  for (const entry of log) {
    const finding = verifier.verifyNext(entry, [])
    if (finding) return finding
  }
  return verifier.finish()
}

function replace(log: StoredEntry[], index: number, changes: Partial<StoredEntry>): void {
  log[index] = { ...(log[index] as StoredEntry), ...changes }
}

function bodyAt(log: readonly StoredEntry[], index: number): string {
  return (log[index] as StoredEntry).body
}

/** Changes one letter of the action, so that the text stays valid JSON. */
function changeLetter(body: string): string {
  return body.replace('key.issued', 'key.issuef')
}
