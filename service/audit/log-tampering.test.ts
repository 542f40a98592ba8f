import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import type pg from 'pg'
import {
  type AuditFixture,
  createAuditFixture,
  forgeBody,
  forgeEntry,
} from '../../testing/fixtures/audit.ts'
import { hashBody } from './audit-entry.ts'
import { findHead, readEntries, type StoredEntry } from './audit-read-store.ts'

const ENTRIES = 9

interface Tampering {
  client: pg.PoolClient
  entries: readonly StoredEntry[]
  at(sequence: number): StoredEntry
}

/** Writes nine entries, tampers with them as the database owner, and returns the finding. */
async function findingAfter(
  test: TestContext,
  tamper: (tampering: Tampering) => Promise<unknown>,
): Promise<{ at: number | null; finding: string }> {
  const fixture = await createAuditFixture(test)
  await fixture.write(ENTRIES)
  assert.ok((await fixture.verify()).is_intact)
  await tamperWithLog(fixture, tamper)
  const { broken_at, finding, is_intact } = await fixture.verify()
  assert.equal(is_intact, broken_at === null)
  return { at: broken_at, finding }
}

async function tamperWithLog(
  { database, workspaceId, asOwner }: AuditFixture,
  tamper: (tampering: Tampering) => Promise<unknown>,
): Promise<void> {
  const entries = await readEntries(database, { workspaceId, limit: 100 })
  const at = (sequence: number) => entries[sequence - 1] as StoredEntry
  await asOwner(client => tamper({ client, entries, at }))
}

const setBody = ({ client }: Tampering, sequence: number, row: { body: string; hash: Buffer }) =>
  client.query('update audit_entries set body = $2, hash = $3 where sequence = $1', [
    sequence,
    row.body,
    row.hash,
  ])

const remove = ({ client }: Tampering, where: string) =>
  client.query(`delete from audit_entries where ${where}`)

const insert = ({ client }: Tampering, row: { sequence: number; body: string; hash: Buffer }) =>
  client.query(
    `insert into audit_entries (workspace_id, sequence, body, hash)
     select workspace_id, $1, $2, $3 from audit_heads`,
    [row.sequence, row.body, row.hash],
  )

it('finds a changed body', async test => {
  assert.deepEqual(
    await findingAfter(test, tampering => {
      const { body, hash } = tampering.at(4)
      return setBody(tampering, 4, { body: body.replace('"count":4', '"count":5'), hash })
    }),
    { at: 4, finding: 'The text of entry 4 does not match its hash.' },
  )
})

it('finds a body changed together with its hash', async test => {
  for (const sequence of [1, 4, 8]) {
    assert.deepEqual(
      await findingAfter(test, tampering =>
        setBody(
          tampering,
          sequence,
          forgeBody(tampering.at(sequence).body, { details: { count: 100 } }),
        ),
      ),
      {
        at: sequence,
        finding: `Entry ${sequence} does not match its hash in entry ${sequence + 1}.`,
      },
    )
  }
})

it('finds the last body changed together with its hash', async test => {
  assert.deepEqual(
    await findingAfter(test, tampering =>
      setBody(tampering, 9, forgeBody(tampering.at(9).body, { details: {} })),
    ),
    { at: 9, finding: 'Entry 9 does not match the signed head.' },
  )
})

it('finds an entry with a changed predecessor and hash', async test => {
  for (const sequence of [2, 5, 9]) {
    const { at } = await findingAfter(test, tampering =>
      setBody(
        tampering,
        sequence,
        forgeBody(tampering.at(sequence).body, { previous_hash: 'a'.repeat(64) }),
      ),
    )
    assert.equal(at, sequence)
  }
})

it('finds a body that is not canonical JSON', async test => {
  assert.deepEqual(
    await findingAfter(test, tampering => {
      const { body } = forgeBody(tampering.at(5).body, {})
      return setBody(tampering, 5, { body: body.replace('{', '{ '), hash: tampering.at(5).hash })
    }),
    { at: 5, finding: 'The text of entry 5 does not match its hash.' },
  )
  assert.deepEqual(
    await findingAfter(test, tampering => {
      const spaced = tampering.at(9).body.replace('{', '{ ')
      return setBody(tampering, 9, { body: spaced, hash: hashBody(spaced) })
    }),
    { at: 9, finding: 'Entry 9 is not canonical JSON.' },
  )
})

it('finds columns that do not match the body', async test => {
  assert.deepEqual(
    await findingAfter(test, async ({ client }) => {
      await client.query('alter table audit_entries alter column action drop expression')
      await client.query(`update audit_entries set action = 'key.revoked' where sequence = 3`)
    }),
    { at: 3, finding: 'The columns of entry 3 do not match its text.' },
  )
})

it('finds entries deleted in the middle, at the beginning and at the end', async test => {
  assert.deepEqual(await findingAfter(test, tampering => remove(tampering, 'sequence = 5')), {
    at: 5,
    finding: 'Entry 5 is missing.',
  })
  assert.deepEqual(await findingAfter(test, tampering => remove(tampering, 'sequence = 1')), {
    at: 1,
    finding: 'Entry 1 is missing.',
  })
  assert.deepEqual(await findingAfter(test, tampering => remove(tampering, 'sequence > 6')), {
    at: 7,
    finding: 'Entry 7 is missing: the signed head is at entry 9.',
  })
})

it('finds two swapped bodies', async test => {
  assert.deepEqual(
    await findingAfter(test, async tampering => {
      await setBody(tampering, 3, tampering.at(6))
      await setBody(tampering, 6, tampering.at(3))
    }),
    { at: 3, finding: 'Entry 3 contains the sequence of another entry.' },
  )
})

it('finds two swapped sequences', async test => {
  for (const [one, other] of [
    [2, 7],
    [4, 5],
    [8, 9],
    [1, 2],
  ] as const) {
    const { at } = await findingAfter(test, async ({ client }) => {
      const move = 'update audit_entries set sequence = $2 where sequence = $1'
      await client.query(move, [one, 100])
      await client.query(move, [other, one])
      await client.query(move, [100, other])
    })
    assert.equal(at, one)
  }
})

it('finds a truncated table', async test => {
  assert.deepEqual(
    await findingAfter(test, ({ client }) => client.query('truncate audit_entries')),
    {
      at: 1,
      finding: 'Entry 1 is missing: the signed head is at entry 9.',
    },
  )
})

it('finds a truncated tail under a rewritten head without a signature', async test => {
  assert.deepEqual(
    await findingAfter(test, async tampering => {
      await remove(tampering, 'sequence > 6')
      const { hash } = tampering.at(6)
      await tampering.client.query('update audit_heads set sequence = 6, hash = $1', [hash])
    }),
    {
      at: 6,
      finding:
        'The head of the log is not signed by a key of this installation. ' +
        'Nothing confirms entry 6.',
    },
  )
})

it('finds a rewritten tail under a head without a signature', async test => {
  const { at } = await findingAfter(test, async tampering => {
    let previous = { sequence: 5, hash: tampering.at(5).hash }
    const [{ workspace_id }] = (
      await tampering.client.query('select workspace_id from audit_heads')
    ).rows
    for (let sequence = 6; sequence <= ENTRIES; sequence += 1) {
      const entry = forgeEntry(workspace_id, previous)
      const forged = forgeBody(entry.body, { details: { count: 0 } })
      await setBody(tampering, sequence, forged)
      previous = { sequence, hash: forged.hash }
    }
    await tampering.client.query('update audit_heads set hash = $1', [previous.hash])
  })
  assert.equal(at, 9)
})

it('finds a missing head', async test => {
  assert.deepEqual(
    await findingAfter(test, ({ client }) => client.query('delete from audit_heads')),
    {
      at: 9,
      finding: 'The signed head of the log is missing. Nothing confirms entry 9.',
    },
  )
})

it('finds a forged entry, with and without a forged head', async test => {
  const append = (tampering: Tampering) => {
    const { workspace_id } = JSON.parse(tampering.at(9).body)
    const forged = forgeEntry(workspace_id, { sequence: 9, hash: tampering.at(9).hash })
    return insert(tampering, forged).then(() => forged)
  }
  assert.deepEqual(await findingAfter(test, append), {
    at: 10,
    finding: 'Entry 10 comes after the signed head.',
  })
  const { at } = await findingAfter(test, async tampering => {
    const { hash } = await append(tampering)
    await tampering.client.query('update audit_heads set sequence = 10, hash = $1', [hash])
  })
  assert.equal(at, 10)
})

it('finds entries with invalid sequences', async test => {
  const withSequence = async (sequence: string) =>
    findingAfter(test, async tampering => {
      const { client } = tampering
      await client.query('alter table audit_entries drop constraint audit_entries_sequence_check')
      await client.query(`update audit_entries set sequence = ${sequence} where sequence = 9`)
    })
  assert.deepEqual(await withSequence('0'), {
    at: 1,
    finding: 'Entry 0 does not belong in the log.',
  })
  assert.deepEqual(await withSequence('9223372036854775807'), {
    at: 9,
    finding: 'Entry 9 is missing.',
  })
})

it('finds the log of another workspace', async test => {
  const fixture = await createAuditFixture(test)
  const other = await fixture.newWorkspace()
  await fixture.write(3)
  await fixture.write(3, other)
  await tamperWithLog(fixture, async ({ client }) => {
    for (const table of ['audit_entries', 'audit_heads']) {
      await client.query(`delete from ${table} where workspace_id = $1`, [fixture.workspaceId])
      await client.query(`update ${table} set workspace_id = $1`, [fixture.workspaceId])
    }
  })
  const { broken_at, finding } = await fixture.verify()
  assert.equal(broken_at, 1)
  assert.equal(finding, 'Entry 1 was written for another workspace.')
})

it('cannot find a restored older head without a checkpoint', async test => {
  const fixture = await createAuditFixture(test)
  await fixture.write(6)
  const older = await findHead(fixture.database, fixture.workspaceId)
  await fixture.write(3)
  await tamperWithLog(fixture, async tampering => {
    await remove(tampering, 'sequence > 6')
    await tampering.client.query('update audit_heads set sequence = 6, hash = $1, signature = $2', [
      older?.hash,
      older?.signature,
    ])
  })
  // verify-chains.test.ts finds it with data outside the database.
  assert.ok((await fixture.verify()).is_intact)
})
