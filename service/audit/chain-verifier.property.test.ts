import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { it } from 'node:test'
import fc from 'fast-check'
import { forgedBody, sampleEntry } from '../../testing/audit-under-test.ts'
import { buildChainedEntry, type ChainLink, GENESIS_LINK } from './audit-entry.ts'
import type { StoredEntry } from './audit-read-store.ts'
import { ChainVerifier, type TrustedEntry } from './chain-verifier.ts'

const WORKSPACE = 3

/** What somebody does to one entry of a log, and which one is then the first that is wrong. */
type Edit = (log: StoredEntry[], index: number) => void

const EDITS: Record<string, Edit> = {
  'its text': (log, index) => replace(log, index, { body: letterChanged(bodyAt(log, index)) }),
  'its digest': (log, index) => replace(log, index, { hash: randomBytes(32) }),
  'its text and digest': (log, index) =>
    replace(log, index, forgedBody(bodyAt(log, index), { details: { count: -1 } })),
  'its predecessor and digest': (log, index) =>
    replace(log, index, forgedBody(bodyAt(log, index), { previous_hash: 'b'.repeat(64) })),
  'its workspace and digest': (log, index) =>
    replace(log, index, forgedBody(bodyAt(log, index), { workspace_id: 4 })),
  'its own number and digest': (log, index) =>
    replace(log, index, forgedBody(bodyAt(log, index), { sequence: 5_000 })),
  'its columns': (log, index) =>
    replace(log, index, { columns: { action: 'policy.changed', subjectType: '', subjectId: '' } }),
  'that it is no JSON': (log, index) => replace(log, index, { body: '{' }),
  'that it is there': (log, index) => void log.splice(index, 1),
  'that it is there, and all that follow': (log, index) => void log.splice(index),
}

const length = fc.integer({ min: 1, max: 30 })
const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

for (const [what, edit] of Object.entries(EDITS)) {
  it(`one entry of a log, changed in ${what}, is found wherever it stands`, () => {
    const property = fc.property(length, place, (count, where) => {
      const log = written(count)
      const end = endOf(log)
      const index = Math.floor(where * count)
      edit(log, index)
      assert.equal(found(log, end)?.sequence, index + 1)
    })
    fc.assert(property)
  })
}

it('two entries in each other’s place are found at the first of them', () => {
  const property = fc.property(length, place, place, (count, where, elsewhere) => {
    const log = written(count)
    const end = endOf(log)
    const [one, other] = [Math.floor(where * count), Math.floor(elsewhere * count)]
    const [first, second] = [log[one] as StoredEntry, log[other] as StoredEntry]
    log[one] = { ...second, sequence: first.sequence }
    log[other] = { ...first, sequence: second.sequence }
    assert.equal(found(log, end)?.sequence ?? null, one === other ? null : Math.min(one, other) + 1)
  })
  fc.assert(property)
})

it('a cut tail is found by whoever knows an entry of it, and by nobody else', () => {
  const property = fc.property(length, place, place, (count, where, elsewhere) => {
    const log = written(count)
    const kept = Math.floor(where * count)
    const known = log[Math.floor(elsewhere * count)] as StoredEntry
    const cut = log.slice(0, kept)
    const finding = found(cut, endOf(cut), [{ ...known, source: 'somebody' }])
    assert.equal(finding?.sequence ?? null, known.sequence > kept ? kept + 1 : null)
  })
  fc.assert(property)
})

it('an untouched log is never found wrong', () => {
  fc.assert(
    fc.property(length, count => {
      const log = written(count)
      assert.equal(found(log, endOf(log)), null)
    }),
  )
})

function written(count: number): StoredEntry[] {
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

function endOf(log: readonly StoredEntry[]): ChainLink {
  const { sequence, hash } = log.at(-1) ?? GENESIS_LINK
  return { sequence, hash }
}

function found(log: readonly StoredEntry[], end: ChainLink, known: TrustedEntry[] = []) {
  const head = { workspaceId: WORKSPACE, ...end, signature: Buffer.alloc(32) }
  const isSigned = end.sequence > 0
  const watch = new ChainVerifier({
    ...{ workspaceId: WORKSPACE, isSigned, known },
    head: isSigned ? head : null,
  })
  for (const entry of log) {
    const finding = watch.verifyNext(entry, [])
    if (finding) return finding
  }
  return watch.finish()
}

function replace(log: StoredEntry[], index: number, changes: Partial<StoredEntry>): void {
  log[index] = { ...(log[index] as StoredEntry), ...changes }
}

function bodyAt(log: readonly StoredEntry[], index: number): string {
  return (log[index] as StoredEntry).body
}

/** One letter of the action, so that the text stays JSON. */
function letterChanged(body: string): string {
  return body.replace('key.issued', 'key.issuef')
}
